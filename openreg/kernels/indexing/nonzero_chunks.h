// What the kernels that look for elements other than 0 have in common: each chunk of elements is searched by itself.
#pragma once

#include <algorithm>

#include "kernels/indexing/nonzero.h"
#include "kernels/loop/block.h"
#include "kernels/loop/cursor.h"
#include "kernels/loop/functor.h"
#include "kernels/loop/multiversion.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// Runs `body` over the numbers of all chunks.
template <class State>
void forEachChunk(const NonzeroArgs& args, orKernelContext& context, const State* state, orLoopBody body) {
  const int64_t chunks = (elementCount(args.dims, args.sizes) + kNonzeroChunk - 1) / kNonzeroChunk;
  context.parallelFor(&context, chunks, 2, body, const_cast<State*>(state));
}

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

/// How many flags of a block are set.
OPENREG_MULTIVERSION static int64_t countSet(const bool* flags, int64_t count) {
  int32_t set = 0; // a block has few enough
  for (int64_t i = 0; i < count; ++i) {
    set += flags[i] ? 1 : 0;
  }
  return set;
}

/// Which of the elements from number `first` on are set, without a branch, which a processor would often guess wrong.
/// @param found Has room for one more than `count`.
inline void findSet(const bool* flags, int64_t count, int64_t first, int64_t* found) {
  for (int64_t i = 0; i < count; ++i) {
    *found = first + i;
    found += flags[i] ? 1 : 0;
  }
}

} // namespace openreg::kernels
