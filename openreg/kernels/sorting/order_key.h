// Elements of any type as unsigned numbers in the same order, so that one piece of code sorts them all.
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/loop/block.h"
#include "kernels/loop/functor.h"

namespace openreg::kernels {

constexpr uint64_t kSignBit = uint64_t{1} << 63;

constexpr uint64_t orderKey(int64_t value) {
  return static_cast<uint64_t>(value) ^ kSignBit;
}

/// A NaN is larger than all numbers, and -0 equals 0.
constexpr uint64_t orderKey(double value) {
  if (value != value) {
    return ~uint64_t{0};
  }
  const auto bits = std::bit_cast<uint64_t>(value == 0 ? 0.0 : value);
  return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
}

/// The key of a NaN; no number of a floating-point type has it.
constexpr uint64_t kNanKey = ~uint64_t{0};

/// Whether elements of a type can be NaN.
constexpr bool isFloating(DType dtype) {
  return dtype == DType::Half || dtype == DType::BFloat16 || dtype == DType::Float || dtype == DType::Double;
}

/// Reads `count` elements, `stride` bytes apart, as keys. Complex numbers have no order.
inline void loadKeys(DType dtype, const char* from, int64_t stride, int64_t count, uint64_t* keys) {
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t run = std::min(kBlock, count - at);
    const char* first = from + at * stride;
    if (isFloating(dtype)) {
      double block[kBlock];
      load(dtype, first, stride, run, block);
      for (int64_t i = 0; i < run; ++i) {
        keys[at + i] = orderKey(block[i]);
      }
    } else if (dtype == DType::UInt64) {
      load(dtype, first, stride, run, keys + at);
    } else {
      int64_t block[kBlock];
      load(dtype, first, stride, run, block);
      for (int64_t i = 0; i < run; ++i) {
        keys[at + i] = orderKey(block[i]);
      }
    }
  }
}

} // namespace openreg::kernels
