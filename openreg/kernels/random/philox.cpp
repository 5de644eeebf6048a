// Many blocks of Philox at a time, in vector code.
#include "kernels/loop/multiversion.h"
#include "kernels/random/draw_blocks.h"

namespace openreg::kernels {

template <class Bits>
OPENREG_MULTIVERSION void drawBlocks(const PhiloxRange& numbers, int64_t first, int64_t count, Bits* bits) {
  const PhiloxRange range = resolved(numbers); // its own, so that the loop need not fear that `bits` are it
  for (int64_t block = 0; block < count; ++block) {
    drawNumbers(range, static_cast<uint64_t>(first + block), bits + block * kPerBlock<Bits>);
  }
}

template void drawBlocks(const PhiloxRange&, int64_t, int64_t, uint32_t*);
template void drawBlocks(const PhiloxRange&, int64_t, int64_t, uint64_t*);

} // namespace openreg::kernels
