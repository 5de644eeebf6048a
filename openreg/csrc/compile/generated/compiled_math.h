// at::vec takes the mathematics of whole vectors from Sleef. That is part of libtorch, which a device does not have;
// the C library has the same functions, in libmvec, and the device's own kernels use them, too. To be included before
// at::vec.
#pragma once

#if defined(CPU_CAPABILITY_AVX512) || defined(CPU_CAPABILITY_AVX2)
#include <immintrin.h>

#include <cmath>
#include <cstring>

// LITERALINCLUDE START: VECTOR MATH
#if defined(CPU_CAPABILITY_AVX512)
using Floats = __m512;
using Doubles = __m512d;
#define FLOATS(function, accuracy) Sleef_##function##f16_##accuracy
#define DOUBLES(function, accuracy) Sleef_##function##d8_##accuracy
#define FLOATS_EXACT(function) Sleef_##function##f16
#define DOUBLES_EXACT(function) Sleef_##function##d8
#define LIBMVEC_FLOATS(function, arguments) _ZGVeN16##arguments##_##function##f
#define LIBMVEC_DOUBLES(function, arguments) _ZGVeN8##arguments##_##function
#else
using Floats = __m256;
using Doubles = __m256d;
#define FLOATS(function, accuracy) Sleef_##function##f8_##accuracy
#define DOUBLES(function, accuracy) Sleef_##function##d4_##accuracy
#define FLOATS_EXACT(function) Sleef_##function##f8
#define DOUBLES_EXACT(function) Sleef_##function##d4
#define LIBMVEC_FLOATS(function, arguments) _ZGVdN8##arguments##_##function##f
#define LIBMVEC_DOUBLES(function, arguments) _ZGVdN4##arguments##_##function
#endif

/// A function of one vector under both names: Sleef's calls libmvec's.
#define OF_ONE(function, accuracy)                                                                                     \
  Floats LIBMVEC_FLOATS(function, v)(Floats);                                                                          \
  Doubles LIBMVEC_DOUBLES(function, v)(Doubles);                                                                       \
  inline Floats FLOATS(function, accuracy)(Floats x) {                                                                 \
    return LIBMVEC_FLOATS(function, v)(x);                                                                             \
  }                                                                                                                    \
  inline Doubles DOUBLES(function, accuracy)(Doubles x) {                                                              \
    return LIBMVEC_DOUBLES(function, v)(x);                                                                            \
  }
/// The same of two.
#define OF_TWO(function, accuracy)                                                                                     \
  Floats LIBMVEC_FLOATS(function, vv)(Floats, Floats);                                                                 \
  Doubles LIBMVEC_DOUBLES(function, vv)(Doubles, Doubles);                                                             \
  inline Floats FLOATS(function, accuracy)(Floats x, Floats y) {                                                       \
    return LIBMVEC_FLOATS(function, vv)(x, y);                                                                         \
  }                                                                                                                    \
  inline Doubles DOUBLES(function, accuracy)(Doubles x, Doubles y) {                                                   \
    return LIBMVEC_DOUBLES(function, vv)(x, y);                                                                        \
  }
// LITERALINCLUDE END: VECTOR MATH

/// One that libmvec lacks: number by number.
template <class Number, class Vector, class Function>
inline Vector numberByNumber(Vector x, Vector y, Function function) {
  Number xs[sizeof(Vector) / sizeof(Number)], ys[sizeof(Vector) / sizeof(Number)];
  std::memcpy(xs, &x, sizeof(x));
  std::memcpy(ys, &y, sizeof(y));
  for (size_t i = 0; i < sizeof(Vector) / sizeof(Number); ++i) {
    xs[i] = function(xs[i], ys[i]);
  }
  std::memcpy(&x, xs, sizeof(x));
  return x;
}
#define BY_NUMBER_OF_TWO(function)                                                                                     \
  inline Floats FLOATS_EXACT(function)(Floats x, Floats y) {                                                           \
    return numberByNumber<float>(x, y, [](float a, float b) { return std::function(a, b); });                          \
  }                                                                                                                    \
  inline Doubles DOUBLES_EXACT(function)(Doubles x, Doubles y) {                                                       \
    return numberByNumber<double>(x, y, [](double a, double b) { return std::function(a, b); });                       \
  }

extern "C" {
OF_ONE(acos, u10)
OF_ONE(acosh, u10)
OF_ONE(asin, u10)
OF_ONE(asinh, u10)
OF_ONE(atan, u10)
OF_ONE(atanh, u10)
OF_ONE(cos, u10)
OF_ONE(cosh, u10)
OF_ONE(erf, u10)
OF_ONE(erfc, u15)
OF_ONE(exp, u10)
OF_ONE(exp2, u10)
OF_ONE(expm1, u10)
OF_ONE(log, u10)
OF_ONE(log10, u10)
OF_ONE(log1p, u10)
OF_ONE(log2, u10)
OF_ONE(sin, u10)
OF_ONE(sinh, u10)
OF_ONE(tan, u10)
OF_ONE(tanh, u10)
OF_ONE(sin, u35)
OF_ONE(cos, u35)
OF_TWO(atan2, u10)
OF_TWO(hypot, u05)
OF_TWO(pow, u10)
BY_NUMBER_OF_TWO(copysign)
BY_NUMBER_OF_TWO(fmod)
BY_NUMBER_OF_TWO(nextafter)
inline Floats FLOATS(lgamma, u10)(Floats x) {
  return numberByNumber<float>(x, x, [](float a, float) { return std::lgamma(a); });
}
inline Doubles DOUBLES(lgamma, u10)(Doubles x) {
  return numberByNumber<double>(x, x, [](double a, double) { return std::lgamma(a); });
}
}

#undef FLOATS
#undef DOUBLES
#undef FLOATS_EXACT
#undef DOUBLES_EXACT
#undef LIBMVEC_FLOATS
#undef LIBMVEC_DOUBLES
#undef OF_ONE
#undef OF_TWO
#undef BY_NUMBER_OF_TWO
#endif
