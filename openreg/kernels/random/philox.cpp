// Many blocks of Philox at a time.
#include "kernels/random/philox.h"

#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

template <class Bits>
OPENREG_MULTIVERSION void drawBlocks(const PhiloxRange& numbers, int64_t first, int64_t count, Bits* bits) {
  const PhiloxRange range = resolved(numbers); // its own, so that the loop need not fear that `bits` are it
  for (int64_t block = 0; block < count; ++block) {
    uint32_t words[4];
    drawBlock(range, static_cast<uint64_t>(first + block), words);
    if constexpr (sizeof(Bits) == sizeof(uint32_t)) {
      for (int word = 0; word < 4; ++word) {
        bits[4 * block + word] = words[word];
      }
    } else {
      bits[2 * block] = uint64_t{words[1]} << 32 | words[0];
      bits[2 * block + 1] = uint64_t{words[3]} << 32 | words[2];
    }
  }
}

template void drawBlocks(const PhiloxRange&, int64_t, int64_t, uint32_t*);
template void drawBlocks(const PhiloxRange&, int64_t, int64_t, uint64_t*);

} // namespace openreg::kernels
