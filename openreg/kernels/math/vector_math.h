// Functions of real numbers in forms that the vectoriser knows.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>

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

/// Where erf is `x`, within a few units in the last place of a float. After M. Giles, "Approximating the erfinv
/// function": a polynomial in the middle and one for the ends, of which the vectoriser computes both.
inline float inverseErfOfFloat(float x) {
  const float logarithm = -std::log((1.0F - x) * (1.0F + x));
  const float middle = logarithm - 2.5F;
  float inner = 2.81022636e-08F;
  for (const float next :
       {3.43273939e-07F, -3.5233877e-06F, -4.39150654e-06F, 0.00021858087F, -0.00125372503F, -0.00417768164F,
        0.246640727F, 1.50140941F}) {
    inner = next + inner * middle;
  }
  const float end = std::sqrt(logarithm) - 3.0F;
  float outer = -0.000200214257F;
  for (const float next :
       {0.000100950558F, 0.00134934322F, -0.00367342844F, 0.00573950773F, -0.0076224613F, 0.00943887047F, 1.00167406F,
        2.83297682F}) {
    outer = next + outer * end;
  }
  // At 1 and -1 the logarithm is infinite, and so has the result to be; beyond them and of NaN it is NaN.
  const float inside = (logarithm < 5.0F ? inner : outer) * x;
  return std::fabs(x) == 1.0F ? x * std::numeric_limits<float>::infinity() : inside;
}

} // namespace openreg::kernels::math
