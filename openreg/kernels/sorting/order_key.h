// Elements of any type as unsigned numbers in the same order, so that one piece of code sorts them all.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>

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

/// The same in half the room, for types of at most 32 bits.
constexpr uint32_t shortOrderKey(float value) {
  if (value != value) {
    return ~uint32_t{0};
  }
  constexpr uint32_t kSign = uint32_t{1} << 31;
  const auto bits = std::bit_cast<uint32_t>(value == 0 ? 0.0F : value);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

/// The key of a NaN; no number of a floating-point type has it.
constexpr uint64_t kNanKey = ~uint64_t{0};

/// Whether elements of a type can be NaN.
constexpr bool isFloating(DType dtype) {
  return dtype == DType::Half || dtype == DType::BFloat16 || dtype == DType::Float || dtype == DType::Double;
}

/// The key of one element.
inline uint64_t orderKeyOf(DType dtype, const char* at) {
  if (isFloating(dtype)) {
    double value = 0;
    load(dtype, at, 0, 1, &value);
    return orderKey(value);
  }
  if (dtype == DType::UInt64) {
    return *reinterpret_cast<const uint64_t*>(at);
  }
  int64_t value = 0;
  load(dtype, at, 0, 1, &value);
  return orderKey(value);
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

/// Reads `count` contiguous elements of a type of at most 32 bits as short keys; calls `use(i, key)` for each.
template <class Use>
void forEachShortKey(DType dtype, const char* from, int64_t count, Use use) {
  const int64_t size = elementSize(dtype);
  const int64_t least = dtype == DType::UInt32 ? 0 : std::numeric_limits<int32_t>::min();
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t run = std::min(kBlock, count - at);
    if (isFloating(dtype)) {
      float block[kBlock];
      load(dtype, from + at * size, size, run, block);
      for (int64_t i = 0; i < run; ++i) {
        use(at + i, shortOrderKey(block[i]));
      }
    } else {
      int64_t block[kBlock];
      load(dtype, from + at * size, size, run, block);
      for (int64_t i = 0; i < run; ++i) {
        use(at + i, static_cast<uint32_t>(block[i] - least));
      }
    }
  }
}

} // namespace openreg::kernels
