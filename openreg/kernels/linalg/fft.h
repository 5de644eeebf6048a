// Arguments of the kernel "fft". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// Fourier transforms along the middle one of three dimensions. Arrays are contiguous, real or complex.
struct FftArgs {
  void* out;      ///< outer × outSize × inner elements: the first of each transform; if real, their real parts.
  const void* in; ///< outer × inSize × inner elements.
  int64_t outer;
  int64_t inner;
  int64_t size;    ///< Of a transform.
  int64_t inSize;  ///< Of the elements transformed, how many are given. Those missing are conjugates of those given.
  int64_t outSize; ///< Of the results, how many are wanted.
  DType inType;
  DType outType;
  int64_t inverse; ///< Whether exponents are positive.
  double scale;    ///< What results are multiplied with.
};

} // namespace openreg::kernels
