// The vendor's library for matrix products: OpenBLAS, from the Python package scipy-openblas32.
#pragma once

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// The general product in the types that the library has, as the interface CBLAS declares it.
struct Blas {
  template <class T, class Scalar>
  using Gemm = void (*)(
      int order,
      int transA,
      int transB,
      int m,
      int n,
      int k,
      Scalar alpha,
      const T* a,
      int lda,
      const T* b,
      int ldb,
      Scalar beta,
      T* c,
      int ldc);

  template <class T, class Scalar>
  using Gemv = void (*)(
      int order,
      int trans,
      int m,
      int n,
      Scalar alpha,
      const T* a,
      int lda,
      const T* x,
      int incx,
      Scalar beta,
      T* y,
      int incy);

  Gemm<float, float> sgemm;
  Gemm<double, double> dgemm;
  Gemm<void, const void*> cgemm; ///< Complex numbers go by pointer.
  Gemm<void, const void*> zgemm;
  Gemv<float, float> sgemv;
  Gemv<double, double> dgemv;
  Gemv<void, const void*> cgemv;
  Gemv<void, const void*> zgemv;

  static constexpr int kRowMajor = 101;
  static constexpr int kNoTranspose = 111;
  static constexpr int kTranspose = 112;
};

/// The library, opened by the first product. Null if it cannot be; then `why` says what is missing.
const Blas* blas(const char*& why);

/// A thread may call the library as long as it has one of these. When the process ends nobody waits for the device, and
/// the library's destructor would take its buffers away from under a running product: so the end waits for the threads
/// that are in there, and nobody else gets in any more.
class BlasCall {
 public:
  BlasCall();
  ~BlasCall();
  BlasCall(const BlasCall&) = delete;
  BlasCall& operator=(const BlasCall&) = delete;
};

} // namespace openreg::kernels
