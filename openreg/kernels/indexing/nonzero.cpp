// The kernels "nonzero_count" and "nonzero".
#include "kernels/indexing/nonzero.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/launch/registry.h"
#include "kernels/loop/block.h"
#include "kernels/loop/cursor.h"
#include "kernels/loop/element.h"
#include "kernels/loop/functor.h"

namespace openreg::kernels {

namespace {

/// Calls `use(first, flags, count)` for the elements of a chunk, a block at a time.
template <class Use>
void forEachBlock(const NonzeroArgs& args, int64_t chunk, Use use) {
  const int64_t begin = chunk * kNonzeroChunk;
  const int64_t end = std::min(begin + kNonzeroChunk, elementCount(args.dims, args.sizes));
  Cursor cursor(args.dims, args.sizes, args.strides, begin);
  bool flags[kBlock];
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t count = std::min(kBlock, end - at);
    cursor.advance(count, [&](int64_t offset, int64_t stride, int64_t done, int64_t run) {
      load(args.dtype, static_cast<const char*>(args.input) + offset, stride, run, flags + done);
    });
    use(at, flags, count);
  }
}

void forEachChunk(const NonzeroArgs& args, orKernelContext& context, orLoopBody body) {
  const int64_t chunks = (elementCount(args.dims, args.sizes) + kNonzeroChunk - 1) / kNonzeroChunk;
  context.parallelFor(&context, chunks, 2, body, const_cast<NonzeroArgs*>(&args));
}

struct Count {
  void operator()(const NonzeroArgs& args, orKernelContext& context) const {
    forEachChunk(args, context, [](void* state, int64_t begin, int64_t end) {
      const auto& args = *static_cast<const NonzeroArgs*>(state);
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        int64_t found = 0;
        forEachBlock(args, chunk, [&](int64_t, const bool* flags, int64_t count) {
          found += std::count(flags, flags + count, true);
        });
        args.counts[chunk] = found;
      }
    });
    int64_t before = 0;
    const int64_t chunks = (elementCount(args.dims, args.sizes) + kNonzeroChunk - 1) / kNonzeroChunk;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      before += std::exchange(args.counts[chunk], before);
    }
    args.counts[chunks] = before;
  }
};

/// Which elements are set, without a branch that a processor would guess wrong. @param found Has room for one more.
/// @return How many.
int64_t findSet(const bool* flags, int64_t count, int64_t first, int64_t* found) {
  int64_t all = 0;
  for (int64_t i = 0; i < count; ++i) {
    found[all] = first + i;
    all += flags[i] ? 1 : 0;
  }
  return all;
}

struct Nonzero {
  void operator()(const NonzeroArgs& args, orKernelContext& context) const {
    forEachChunk(args, context, [](void* state, int64_t begin, int64_t end) {
      const auto args = *static_cast<const NonzeroArgs*>(state); // a copy, which writing indices cannot change
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        int64_t row = args.counts[chunk];
        forEachBlock(args, chunk, [&](int64_t first, const bool* flags, int64_t count) {
          int64_t found[kBlock + 1];
          int64_t all = std::count(flags, flags + count, true);
          if (all == count) { // Flags often come in runs.
            std::iota(found, found + count, first);
          } else if (all != 0) {
            all = findSet(flags, count, first, found);
          }
          putRows(args, found, std::min(all, args.limit - row), row);
          row += all;
        });
      }
    });
  }

  /// Writes rows [row, row + count) of the result.
  static void putRows(const NonzeroArgs& args, const int64_t* elements, int64_t count, int64_t row) {
    if (args.dims == 1 && args.rowStride == 1) {
      std::copy_n(elements, std::max(int64_t{0}, count), args.indices + row);
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      putIndices(args, elements[i], args.indices + (row + i) * args.rowStride);
    }
  }

  static void putIndices(const NonzeroArgs& args, int64_t element, int64_t* to) {
    for (int i = 0; i + 1 < args.dims; ++i) {
      to[(args.dims - 1 - i) * args.columnStride] = element % args.sizes[i];
      element /= args.sizes[i];
    }
    if (args.dims > 0) { // a division takes longer than all the rest
      to[0] = element;
    }
  }
};

const Register<NonzeroArgs> kCount("nonzero_count", Count{});
const Register<NonzeroArgs> kNonzero("nonzero", Nonzero{});

} // namespace

} // namespace openreg::kernels
