// Arguments of the kernel "fill". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/loop/dims.h"

namespace openreg::kernels {

/// Sets elements of any strides to one value.
struct FillArgs {
  void* dst;                 ///< First element; device memory, written.
  unsigned char value[16];   ///< The element; its first `elementSize` bytes are used.
  int64_t elementSize;       ///< Bytes: 1, 2, 4, 8 or 16.
  int64_t dims;              ///< 0 to kMaxDims; 0 is one element.
  int64_t sizes[kMaxDims];   ///< Elements of each dimension; any order of dimensions.
  int64_t strides[kMaxDims]; ///< Bytes; may be negative or 0.
};

} // namespace openreg::kernels
