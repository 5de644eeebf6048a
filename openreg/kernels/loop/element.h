// Elements as device code moves them: bytes of a size, whatever they mean.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// Sixteen bytes that are moved as one (a complex number of two doubles). Aligned like its halves.
struct Bytes16 {
  uint64_t halves[2];
};

/// Calls `use` with a value of the type for `elementSize`. False if there is none.
template <class Use>
bool withElementType(int64_t elementSize, Use use) {
  switch (elementSize) {
    case 1:
      use(uint8_t{});
      return true;
    case 2:
      use(uint16_t{});
      return true;
    case 4:
      use(uint32_t{});
      return true;
    case 8:
      use(uint64_t{});
      return true;
    case 16:
      use(Bytes16{});
      return true;
    default:
      return false;
  }
}

/// Elements that are worth a thread of their own; smaller loops run where they are.
constexpr int64_t kGrain = 32 * 1024;

/// The same in rows of so many elements each.
constexpr int64_t grainOfRows(int64_t elements) {
  return kGrain / (elements > 1 ? elements : 1) + 1;
}

/// Parts of one size that so many elements make: at least one.
constexpr int64_t partsOf(int64_t elements, int64_t size) {
  return elements > size ? (elements + size - 1) / size : 1;
}

} // namespace openreg::kernels
