// Functions of real numbers in forms that the vectoriser knows.
#pragma once

#include <cmath>

// glibc has these for whole vectors, too, in libmvec, but tells gcc so only where -ffast-math is on. The vector forms
// are within 4 units in the last place: sourceware.org/glibc/wiki/libmvec
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define OPENREG_VECTOR_FORM(function)                                                                                  \
  __attribute__((simd("notinbranch"))) float function##f(float) noexcept;                                              \
  __attribute__((simd("notinbranch"))) double function(double) noexcept;
#define OPENREG_VECTOR_FORM_OF_TWO(function)                                                                           \
  __attribute__((simd("notinbranch"))) float function##f(float, float) noexcept;                                       \
  __attribute__((simd("notinbranch"))) double function(double, double) noexcept;

extern "C" {
// NOLINTBEGIN(readability-redundant-declaration)
OPENREG_VECTOR_FORM(exp)
OPENREG_VECTOR_FORM(log)
OPENREG_VECTOR_FORM(sin)
OPENREG_VECTOR_FORM(cos)
OPENREG_VECTOR_FORM_OF_TWO(pow)
#if __GLIBC_PREREQ(2, 35)
OPENREG_VECTOR_FORM(exp2)
OPENREG_VECTOR_FORM(expm1)
OPENREG_VECTOR_FORM(log2)
OPENREG_VECTOR_FORM(log10)
OPENREG_VECTOR_FORM(log1p)
OPENREG_VECTOR_FORM(tan)
OPENREG_VECTOR_FORM(asin)
OPENREG_VECTOR_FORM(acos)
OPENREG_VECTOR_FORM(atan)
OPENREG_VECTOR_FORM(sinh)
OPENREG_VECTOR_FORM(cosh)
OPENREG_VECTOR_FORM(tanh)
OPENREG_VECTOR_FORM(asinh)
OPENREG_VECTOR_FORM(acosh)
OPENREG_VECTOR_FORM(atanh)
OPENREG_VECTOR_FORM(erf)
OPENREG_VECTOR_FORM(erfc)
OPENREG_VECTOR_FORM_OF_TWO(atan2)
OPENREG_VECTOR_FORM_OF_TWO(hypot)
#endif
// NOLINTEND(readability-redundant-declaration)
}
#undef OPENREG_VECTOR_FORM
#undef OPENREG_VECTOR_FORM_OF_TWO
#endif

namespace openreg::kernels::math {

/// 1 / (1 + e^-x).
template <class T>
T sigmoid(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

} // namespace openreg::kernels::math
