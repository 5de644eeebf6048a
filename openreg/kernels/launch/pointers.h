// For launchers: describes the pointers among a kernel's arguments (orPointerArg).
#pragma once

#include <cstddef>
#include <cstdint>

#include "openreg.h"

namespace openreg::kernels {

/// Where in a launch's argument bytes a pointer stands. @param member Of `args`, or of the array at its end.
template <class Args>
size_t offsetIn(const Args& args, const void* member) {
  return static_cast<size_t>(static_cast<const char*>(member) - reinterpret_cast<const char*>(&args));
}

/// A pointer to `bytes` contiguous bytes.
constexpr orPointerArg contiguousPointer(size_t offset, uint32_t access, uint64_t bytes) {
  return {static_cast<uint32_t>(offset), access, 0, bytes};
}

/// A pointer to a strided array, with the lowest and the highest byte that the strides lead to.
/// @param offset Where in the argument bytes the pointer stands.
/// @param access orAccessRead, orAccessWrite or both.
/// @param dims Number of dimensions.
/// @param sizes Elements of each.
/// @param strides Bytes from one element to the next of each; may be 0 or negative.
/// @param elementSize Bytes of an element.
constexpr orPointerArg stridedPointer(
    size_t offset, uint32_t access, int dims, const int64_t* sizes, const int64_t* strides, int64_t elementSize) {
  int64_t lower = 0;
  int64_t upper = elementSize;
  for (int i = 0; i < dims; ++i) {
    if (sizes[i] == 0) {
      return {static_cast<uint32_t>(offset), access, 0, 0};
    }
    const int64_t reach = (sizes[i] - 1) * strides[i];
    (reach < 0 ? lower : upper) += reach;
  }
  return {static_cast<uint32_t>(offset), access, lower, static_cast<uint64_t>(upper - lower)};
}

} // namespace openreg::kernels
