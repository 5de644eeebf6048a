// Blocks of Philox on a GPU: each thread has few.
#pragma once

#include "kernels/random/philox.h"

namespace openreg::kernels {

/// Numbers of `count` blocks of a range, from block number `first` on. Bits is uint32_t or uint64_t.
template <class Bits>
void drawBlocks(const PhiloxRange& numbers, int64_t first, int64_t count, Bits* bits) {
  const PhiloxRange range = resolved(numbers);
  for (int64_t block = 0; block < count; ++block) {
    drawNumbers(range, static_cast<uint64_t>(first + block), bits + block * kPerBlock<Bits>);
  }
}

} // namespace openreg::kernels
