// The elements of a chunk that are not 0, on a GPU: all threads of a block look for them together.
#pragma once

#include <algorithm>

#include "kernels/indexing/found_elements.h"
#include "kernels/indexing/nonzero.h"
#include "kernels/loop/block.h"
#include "kernels/loop/row.h"

namespace openreg::kernels {

/// 1 for an element that is not 0.
inline int64_t isNonzero(const NonzeroArgs& args, int64_t element) {
  const char* at = static_cast<const char*>(args.input);
  for (int i = 0; i < args.dims; ++i) {
    at += element % args.sizes[i] * args.strides[i];
    element /= args.sizes[i];
  }
  return loadOne<bool>(args.dtype, at) ? 1 : 0;
}

/// The number behind a chunk's last element.
inline int64_t endOfChunk(const NonzeroArgs& args, int64_t chunk) {
  return std::min((chunk + 1) * kNonzeroChunk, elementCount(args.dims, args.sizes));
}

/// How many elements of a chunk are not 0: each thread has the result.
inline int64_t countNonzero(const NonzeroArgs& args, int64_t chunk) {
  int64_t mine = 0;
  for (int64_t i = chunk * kNonzeroChunk + threadIdx.x; i < endOfChunk(args, chunk); i += kThreads) {
    mine += isNonzero(args, i);
  }
  return joinThreads(SumIn<int64_t>(), mine);
}

/// Calls `use(row, found)` with each of a chunk's elements that is not 0. `row` is how many there are before it, in
/// this chunk and those before it.
template <class Use>
void forEachNonzero(const NonzeroArgs& args, int64_t chunk, Use use) {
  int64_t row = args.counts[chunk];
  const int64_t end = endOfChunk(args, chunk);
  for (int64_t first = chunk * kNonzeroChunk; first < end; first += kThreads) {
    const int64_t element = first + threadIdx.x;
    const int64_t mine = element < end ? isNonzero(args, element) : 0;
    const auto found = joinThreadsBefore(SumIn<int64_t>(), mine);
    if (mine != 0) {
      use(row + found.before, FoundElements{1, element});
    }
    row += found.all;
  }
}

} // namespace openreg::kernels
