// A module with one kernel: a block of Philox for a counter and a key, as the device's own code computes it.
#include <cstdint>

#include "kernels/random/philox.h"
#include "openreg_kernel.h"

namespace {

struct Args {
  uint32_t* words; // In: a counter of 128 bits. Out: the block.
  uint64_t key;
};

void block(const void* raw, orKernelContext*) {
  const auto& args = *static_cast<const Args*>(raw);
  uint32_t words[4] = {args.words[0], args.words[1], args.words[2], args.words[3]};
  openreg::kernels::philox(words, args.key);
  for (int word = 0; word < 4; ++word) {
    args.words[word] = words[word];
  }
}

const orKernelEntry kernels[] = {{"block", &block, sizeof(Args)}};

} // namespace

extern "C" OPENREG_EXPORT const orKernelEntry* orGetKernels(size_t* count) {
  *count = 1;
  return kernels;
}
