// Random numbers one after the other, for kernels that are no loop over elements.
#pragma once

#include "kernels/random/draw.h"

namespace openreg::kernels {

/// Reads the 64-bit numbers of a range from one of them on.
class Sequence {
 public:
  Sequence(const PhiloxRange& numbers, int64_t first)
      : numbers_(numbers), block_(first / kEach), at_(static_cast<int>(first % kEach)) {
    drawBlocks(numbers_, block_, kAhead, bits_);
  }

  /// 64 random bits.
  uint64_t next() {
    if (at_ == kAhead * kEach) {
      block_ += kAhead;
      at_ = 0;
      drawBlocks(numbers_, block_, kAhead, bits_);
    }
    return bits_[at_++];
  }

 private:
  static constexpr int kEach = kPerBlock<uint64_t>;
  static constexpr int kAhead = 16; ///< Blocks drawn at a time.

  PhiloxRange numbers_;
  int64_t block_;
  int at_;
  uint64_t bits_[kAhead * kEach];
};

} // namespace openreg::kernels
