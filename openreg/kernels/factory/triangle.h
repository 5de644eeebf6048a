// Arguments of the kernels "triangle" and "triangle_indices". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/loop/dims.h"

namespace openreg::kernels {

/// Copies the elements of matrices that lie on one side of a diagonal, and sets the others to 0.
struct TriangleArgs {
  void* out;
  const void* in; ///< May be `out`.
  int64_t elementSize;
  int64_t diagonal; ///< Columns right of the main diagonal.
  int32_t upper;    ///< Whether what lies at and right of it is kept; else, what lies at and left of it.
  int32_t dims;     ///< At least 2. Dimension 0 goes along a row (the tensor's last), 1 down a column.
  int64_t sizes[kMaxDims];
  int64_t outStrides[kMaxDims]; ///< Bytes.
  int64_t inStrides[kMaxDims];  ///< Bytes.
};

/// Writes the rows and columns of the elements of a triangle, row after row.
struct TriangleIndicesArgs {
  void* out;           ///< 2 × count, contiguous, of 4 or 8 bytes each.
  int64_t elementSize; ///< 4 or 8.
  int64_t rows;
  int64_t columns;
  int64_t diagonal;
  int64_t upper;
  int64_t count;
};

} // namespace openreg::kernels
