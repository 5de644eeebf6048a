// The allocations that a stream's kernels used last, so that a launch usually takes no lock to check its pointers.
#pragma once

#include <array>
#include <optional>

#include "common/memory/memory.h"

namespace openreg::sim {

/// Belongs to one worker. Forgets everything whenever the device has freed something.
class BlockCache {
 public:
  /// Whether [ptr, ptr + bytes) lies in one live allocation of `memory`, which must be the same one at every call.
  bool holds(const Memory& memory, const void* ptr, size_t bytes) {
    // Read before the look-up: if something is freed in between, the next call starts anew.
    if (const uint64_t now = memory.generation(); now != generation_) {
      blocks_ = {};
      generation_ = now;
    }
    for (const Block& block : blocks_) {
      if (block.holds(ptr, bytes)) {
        return true;
      }
    }
    const std::optional<Block> found = memory.find(ptr);
    if (!found || !found->holds(ptr, bytes)) {
      return false;
    }
    blocks_[oldest_] = *found;
    oldest_ = (oldest_ + 1) % blocks_.size();
    return true;
  }

 private:
  std::array<Block, 8> blocks_{};
  size_t oldest_ = 0;
  uint64_t generation_ = 0;
};

} // namespace openreg::sim
