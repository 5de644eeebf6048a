// Halves of a matrix, for the kernels that multiply them: where they are, and how sums become some again.
#pragma once

#include <cstring>

#include "kernels/linalg/gemm.h"
#include "kernels/loop/block.h"
#include "kernels/loop/convert.h"

namespace openreg::kernels {

constexpr auto kHalfSize = static_cast<int64_t>(sizeof(Half));

inline char* addressOfHalf(const Matrix& matrix, int64_t batch, int64_t row, int64_t column) {
  return static_cast<char*>(matrix.data) +
         (batch * matrix.batchStride + row * matrix.rowStride + column * matrix.colStride) * kHalfSize;
}

inline float halfScalar(const unsigned char (&bytes)[16]) {
  float value;
  std::memcpy(&value, bytes, sizeof(float));
  return value;
}

/// out = beta · out + alpha · sums, for numbers `stride` elements apart.
/// @param old Room for `count` numbers.
inline void finishHalves(const GemmArgs& args, float* sums, int64_t count, char* out, int64_t stride, float* old) {
  const float alpha = halfScalar(args.alpha);
  const float beta = halfScalar(args.beta);
  for (int64_t i = 0; alpha != 1 && i < count; ++i) {
    sums[i] *= alpha;
  }
  if (beta != 0) { // else what was there doesn't count, not even a NaN
    load(args.dtype, out, stride * kHalfSize, count, old);
    for (int64_t i = 0; i < count; ++i) {
      sums[i] += beta * old[i];
    }
  }
  store(args.dtype, out, stride * kHalfSize, count, sums);
}

} // namespace openreg::kernels
