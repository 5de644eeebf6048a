// The elements of a chunk that are not 0, on the host.
#pragma once

#include <algorithm>

#include "kernels/indexing/found_elements.h"
#include "kernels/indexing/nonzero.h"
#include "kernels/loop/block.h"
#include "kernels/loop/cursor.h"
#include "kernels/loop/functor.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

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

/// How many elements of a chunk are not 0.
inline int64_t countNonzero(const NonzeroArgs& args, int64_t chunk) {
  int64_t found = 0;
  forEachBlock(args, chunk, [&](int64_t, const bool* flags, int64_t count) { found += countSet(flags, count); });
  return found;
}

/// Calls `use(row, found)` with those of a chunk's elements that are not 0, some at a time. `row` is how many there are
/// before these, in this chunk and those before it.
template <class Use>
void forEachNonzero(const NonzeroArgs& args, int64_t chunk, Use use) {
  int64_t row = args.counts[chunk];
  forEachBlock(args, chunk, [&](int64_t first, const bool* flags, int64_t count) {
    int64_t numbers[kBlock + 1];
    const int64_t all = countSet(flags, count);
    if (all == count) {
      use(row, FoundElements{count, first});
    } else if (all != 0) {
      findSet(flags, count, first, numbers);
      use(row, FoundElements{all, first, numbers});
    }
    row += all;
  });
}

} // namespace openreg::kernels
