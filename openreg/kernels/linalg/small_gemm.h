// Matrix products within other kernels: one call, one thread.
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/linalg/blas.h"

namespace openreg::kernels {

/// A factor: its rows, or its columns if `transposed`, lie `leading` elements apart.
template <class C>
struct Factor {
  const C* data;
  int64_t leading;
  bool transposed;
};

/// c = a × b, or c + a × b if `add`. @param leading Elements from one row of c to the next.
/// @param blas Not used for integers, which BLAS does not have.
template <class C>
void multiply(
    const Blas* blas,
    int64_t m,
    int64_t n,
    int64_t k,
    const Factor<C>& a,
    const Factor<C>& b,
    bool add,
    C* c,
    int64_t leading) {
  if constexpr (std::is_same_v<C, int64_t>) {
    for (int64_t i = 0; i < m; ++i) {
      C* row = c + i * leading;
      if (!add) {
        std::fill_n(row, n, C(0));
      }
      for (int64_t l = 0; l < k; ++l) {
        const C factor = a.transposed ? a.data[l * a.leading + i] : a.data[i * a.leading + l];
        for (int64_t j = 0; j < n; ++j) {
          row[j] += factor * (b.transposed ? b.data[j * b.leading + l] : b.data[l * b.leading + j]);
        }
      }
    }
  } else {
    const auto call = [&](auto gemm, auto one, auto beta) {
      const auto transposition = [](bool is) { return is ? Blas::kTranspose : Blas::kNoTranspose; };
      gemm(
          Blas::kRowMajor, transposition(a.transposed), transposition(b.transposed), static_cast<int>(m),
          static_cast<int>(n), static_cast<int>(k), one, a.data, static_cast<int>(a.leading), b.data,
          static_cast<int>(b.leading), beta, c, static_cast<int>(leading));
    };
    const BlasCall inside;
    const C one(1);
    const C beta(add ? 1 : 0);
    if constexpr (std::is_same_v<C, float>) {
      call(blas->sgemm, one, beta);
    } else if constexpr (std::is_same_v<C, double>) {
      call(blas->dgemm, one, beta);
    } else if constexpr (std::is_same_v<C, Complex<float>>) {
      call(blas->cgemm, &one, &beta);
    } else {
      call(blas->zgemm, &one, &beta);
    }
  }
}

} // namespace openreg::kernels
