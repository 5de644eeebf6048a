// Many blocks of Philox at a time.
#pragma once

#include "kernels/random/philox.h"

namespace openreg::kernels {

/// Numbers of `count` blocks of a range, from block number `first` on. Bits is uint32_t or uint64_t.
template <class Bits>
void drawBlocks(const PhiloxRange& numbers, int64_t first, int64_t count, Bits* bits);

extern template void drawBlocks(const PhiloxRange&, int64_t, int64_t, uint32_t*);
extern template void drawBlocks(const PhiloxRange&, int64_t, int64_t, uint64_t*);

} // namespace openreg::kernels
