// Walks through all elements that index tensors point to, shared among threads.
#include "kernels/indexing/index_loops.h"

#include <algorithm>

#include "kernels/loop/element.h"

namespace openreg::kernels {

namespace {

// LITERALINCLUDE START: OWN DIMENSION
/// The dimension by which threads share the work where elements are written to where indices point: one in which the
/// indices have no say, so that no two threads write to one place, and the order of what arrives there is that of the
/// walk. The largest such dimension; -1 if there is none.
int ownDimension(const IndexArgs& args) {
  int found = -1;
  for (int i = 0; i < args.dims; ++i) {
    if (args.indexedStrides[i] != 0 && (found < 0 || args.sizes[i] >= args.sizes[found])) {
      found = i;
    }
  }
  return found;
}
// LITERALINCLUDE END: OWN DIMENSION

/// Whether whole rows go to where one index says, and the places are many. Then each thread may have a part of the
/// places, and pass over the rows of the others. What it reads and writes lies in one piece, and not in parts of all
/// rows, beside which another thread writes.
bool isSharedByPlace(const IndexArgs& args) {
  constexpr int64_t kFew = 64;
  return args.indices == 1 && args.dims == 2 && args.index[0].strides[0] == 0 && args.indexedStrides[0] != 0 &&
         args.indexedStrides[1] == 0 && args.index[0].size >= kFew && args.index[0].stride > 0;
}

/// The part [begin, end) of the space along a dimension.
IndexArgs partOf(const IndexArgs& args, int dim, int64_t begin, int64_t end) {
  IndexArgs part = args;
  part.dense = static_cast<char*>(args.dense) + begin * args.denseStrides[dim];
  part.indexed = static_cast<char*>(args.indexed) + begin * args.indexedStrides[dim];
  for (int k = 0; k < args.indices; ++k) {
    const auto* data = reinterpret_cast<const char*>(args.index[k].data) + begin * args.index[k].strides[dim];
    part.index[k].data = reinterpret_cast<const int64_t*>(data);
  }
  part.sizes[dim] = end - begin;
  return part;
}

/// A loop's arguments.
struct Loop {
  const IndexArgs& args;
  orKernelContext& context;
  UseIndexRun use;
  int dim; ///< By which it is shared.
};

} // namespace

void forEachRead(const IndexArgs& args, orKernelContext& context, UseIndexRun use) {
  Loop loop{args, context, use, 0};
  context.parallelFor(
      &context, elementCount(args.dims, args.sizes), kGrain / 4,
      [](void* state, int64_t begin, int64_t end) {
        const auto& [args, context, use, dim] = *static_cast<Loop*>(state);
        IndexWalk(args, context, begin).advance(end - begin, use);
      },
      &loop);
}

void forEachWritten(const IndexArgs& args, orKernelContext& context, UseIndexRun use) {
  const int64_t elements = elementCount(args.dims, args.sizes);
  const int dim = ownDimension(args);
  if (elements == 0) {
    return;
  }
  if (dim < 0) {
    return IndexWalk(args, context, 0).advance(elements, use);
  }
  if (isSharedByPlace(args)) {
    Loop loop{args, context, use, 0};
    const int64_t places = args.index[0].size;
    return context.parallelFor(
        &context, places, std::max(int64_t{1}, kGrain / 4 * places / elements),
        [](void* state, int64_t begin, int64_t end) {
          const auto& [args, context, use, dim] = *static_cast<Loop*>(state);
          IndexWalk walk(args, context, 0);
          walk.onlyTo(begin * args.index[0].stride, end * args.index[0].stride);
          walk.advance(elementCount(args.dims, args.sizes), use);
        },
        &loop);
  }
  Loop loop{args, context, use, dim};
  context.parallelFor(
      &context, args.sizes[dim], std::max(int64_t{1}, kGrain / 4 * args.sizes[dim] / elements),
      [](void* state, int64_t begin, int64_t end) {
        const auto& [args, context, use, dim] = *static_cast<Loop*>(state);
        const IndexArgs part = partOf(args, dim, begin, end);
        IndexWalk(part, context, 0).advance(elementCount(part.dims, part.sizes), use);
      },
      &loop);
}

} // namespace openreg::kernels
