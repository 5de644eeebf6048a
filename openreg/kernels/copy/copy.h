// Arguments of the kernel "copy". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/loop/dims.h"

namespace openreg::kernels {

/// Copies elements of any strides. Source and destination have the same shape and element size and do not overlap.
struct CopyArgs {
  void* dst;                    ///< First element; device memory, written.
  const void* src;              ///< First element; device memory, read.
  int64_t elementSize;          ///< Bytes: 1, 2, 4, 8 or 16.
  int64_t dims;                 ///< 0 to kMaxDims; 0 is one element.
  int64_t sizes[kMaxDims];      ///< Elements of each dimension; any order of dimensions.
  int64_t dstStrides[kMaxDims]; ///< Bytes; may be negative.
  int64_t srcStrides[kMaxDims]; ///< Bytes; may be negative or 0.
};

} // namespace openreg::kernels
