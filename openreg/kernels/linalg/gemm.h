// Arguments of the kernels "gemm.…". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// A matrix within a batch of them.
struct Matrix {
  void* data;          ///< First element; device memory.
  int64_t rowStride;   ///< Elements from one row to the next.
  int64_t colStride;   ///< Elements from one column to the next.
  int64_t batchStride; ///< Elements from one matrix to the next; 0 if all are the same.
};

/// c = beta · c + alpha · a × b for each matrix of a batch.
struct GemmArgs {
  Matrix c; ///< m × n; written, and read unless beta is 0.
  Matrix a; ///< m × k.
  Matrix b; ///< k × n.
  int64_t batch;
  int64_t m;
  int64_t n;
  int64_t k;
  /// Of all three. Floating point and complex: one of the two strides of each matrix is 1. "gemm.float" takes halves,
  /// too, and sums in float.
  DType dtype;
  alignas(8) unsigned char alpha[16]; ///< A value of the compute type.
  alignas(8) unsigned char beta[16];  ///< A value of the compute type.
};

} // namespace openreg::kernels
