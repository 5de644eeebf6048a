// Special functions without branches: the vectoriser computes each case of many numbers at once, and picks.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/loop/multiversion.h"
#include "kernels/math/special_math.h"
#include "kernels/math/vector_math.h"

namespace openreg::kernels::math {

/// A polynomial. The coefficient of the highest power comes first. Even and odd powers by Horner's rule each, side by
/// side, as a processor that waits for one of them goes on with the other.
template <class... C>
OPENREG_INLINE inline double polynomial(double x, C... coefficients) {
  constexpr int kCount = sizeof...(C);
  const double all[kCount] = {coefficients...};
  const double square = x * x;
  double first = all[0];
  double second = all[1];
  for (int i = 2; i + 1 < kCount; i += 2) {
    first = first * square + all[i];
    second = second * square + all[i + 1];
  }
  return kCount % 2 == 0 ? first * x + second : (first * square + all[kCount - 1]) + second * x;
}

/// Half the sum of Chebyshev polynomials of x / 2, by Clenshaw's rule. The coefficient of the highest one comes first.
template <class... C>
OPENREG_INLINE inline float chebyshev(float x, C... coefficients) {
  float sum = 0.0F;
  float last = 0.0F;
  float beforeLast = 0.0F;
  ((beforeLast = last, last = sum, sum = x * last - beforeLast + coefficients), ...);
  return 0.5F * (sum - beforeLast);
}

/// |sin(pi x)|, by the distance to the nearest integer, for which Taylor's series is short.
OPENREG_INLINE inline double sineOfTurns(double x) {
  const double angle = std::numbers::pi * std::fabs(x - std::nearbyint(x));
  const double series = polynomial(
      angle * angle, -1 / 121645100408832000.0, 1 / 355687428096000.0, -1 / 1307674368000.0, 1 / 6227020800.0,
      -1 / 39916800.0, 1 / 362880.0, -1 / 5040.0, 1 / 120.0, -1 / 6.0, 1.0);
  return angle * series;
}

// LITERALINCLUDE START: TRIGAMMA
/// The second derivative of log gamma: ten steps of its recurrence, then its asymptotic series. Below 1/2 by
/// reflection.
OPENREG_INLINE inline double trigamma(double x) {
  const bool isReflected = x < 0.5;
  double y = isReflected ? 1.0 - x : x;
  double below = 0.0;
  for (int i = 0; i < 10; ++i) {
    below += 1.0 / (y * y);
    y += 1.0;
  }
  const double z = 1.0 / (y * y);
  const double series = z * polynomial(z, 7.0 / 6, -691.0 / 2730, 5.0 / 66, -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6);
  const double sum = below + (1.0 + 0.5 / y + series) / y;
  const double ratio = std::numbers::pi / std::sin(std::numbers::pi * x);
  return isReflected ? ratio * ratio - sum : sum;
}
// LITERALINCLUDE END: TRIGAMMA

/// log |gamma(x)|, in double: Stirling's series, below 8 after eight steps of the recurrence, and below 0 by
/// reflection. Beside its zeros it has a few digits more than a float. @tparam below0 Whether x may be there; it takes
/// a third longer.
template <bool below0>
OPENREG_INLINE inline float logGammaOfFloat(float of) {
  const double x = of;
  const bool isReflected = below0 && x < 0.0;
  const double y = isReflected ? 1.0 - x : x;
  const bool isSmall = y < 8.0;
  double steps = y;
  for (int i = 1; i < 8; ++i) {
    steps *= y + i;
  }
  const double z = isSmall ? y + 8.0 : y;
  const double inverse = 1.0 / z;
  const double series =
      inverse *
      polynomial(inverse * inverse, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12);
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  const double stirling = (z - 0.5) * (std::log(z) - 1.0) + (kHalfLogTwoPi - 0.5) + series;
  // One logarithm of all that is divided off.
  const double divisor = (isSmall ? steps : 1.0) * (isReflected ? std::numbers::pi / sineOfTurns(x) : 1.0);
  const double difference = stirling - std::log(divisor);
  const double result = isReflected ? -difference : difference;
  const double atZeros = x == 1.0 || x == 2.0 ? 0.0 : result; // to the last bit: log(0!) and log(1!)
  return static_cast<float>(x == -kInfinity ? kInfinity : atZeros);
}

/// Where the normal distribution's share is p, as exactly as double can be. After M. J. Wichura, "Algorithm AS 241: The
/// Percentage Points of the Normal Distribution": a quotient of polynomials for the middle, one for the sides, and one
/// for what is far out.
OPENREG_INLINE inline double normalQuantile(double p) {
  const double q = p - 0.5;
  const double rest = q < 0.0 ? p : 1.0 - p;
  const double root = std::sqrt(-std::log(rest));
  const double middle = 0.180625 - q * q;
  const double side = root - 1.6;
  const double far = root - 5.0;
  const bool isMiddle = std::fabs(q) <= 0.425;
  const bool isSide = root <= 5.0;
  const double middleOver = polynomial(
      middle, 2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4, 4.5921953931549871457e+4,
      1.3731693765509461125e+4, 1.9715909503065514427e+3, 1.3314166789178437745e+2, 3.3871328727963666080e+0);
  const double middleUnder = polynomial(
      middle, 5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4, 2.1213794301586595867e+4,
      5.3941960214247511077e+3, 6.8718700749205790830e+2, 4.2313330701600911252e+1, 1.0);
  const double sideOver = polynomial(
      side, 7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e+0,
      3.64784832476320460504e+0, 5.76949722146069140550e+0, 4.63033784615654529590e+0, 1.42343711074968357734e+0);
  const double sideUnder = polynomial(
      side, 1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
      6.89767334985100004550e-1, 1.67638483018380384940e+0, 2.05319162663775882187e+0, 1.0);
  const double farOver = polynomial(
      far, 2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
      2.96560571828504891230e-1, 1.78482653991729133580e+0, 5.46378491116411436990e+0, 6.65790464350110377720e+0);
  const double farUnder = polynomial(
      far, 2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
      1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0);
  const double over = isMiddle ? middleOver : isSide ? sideOver : farOver;
  const double under = isMiddle ? middleUnder : isSide ? sideUnder : farUnder;
  const double result = (isMiddle ? q : std::copysign(1.0, q)) * over / under; // of a negative rest, not a number
  return rest == 0.0 ? std::copysign(kInfinity, q) : result;
}

// The coefficients are those of S. L. Moshier's library Cephes (i0.c, i1.c), as they stand in PyTorch's header
// ATen/native/Math.h, without the small ones that a float does not see.

/// The modified Bessel function I of order 0, times exp(-|x|).
OPENREG_INLINE inline float scaledBesselI0OfFloat(float x) {
  const float a = std::fabs(x);
  const float near = chebyshev(
      0.5F * a - 2.0F, -1.30002500998624804212e-8F, 6.04699502254191894932e-8F, -2.67079385394061173391e-7F,
      1.11738753912010371815e-6F, -4.41673835845875056359e-6F, 1.64484480707288970893e-5F, -5.75419501008210370398e-5F,
      1.88502885095841655729e-4F, -5.76375574538582365885e-4F, 1.63947561694133579842e-3F, -4.32430999505057594430e-3F,
      1.05464603945949983183e-2F, -2.37374148058994688156e-2F, 4.93052842396707084878e-2F, -9.49010970480476444210e-2F,
      1.71620901522208775349e-1F, -3.04682672343198398683e-1F, 6.76795274409476084995e-1F);
  const float far = chebyshev(
      32.0F / a - 2.0F, 3.39623202570838634515e-9F, 2.26666899049817806459e-8F, 2.04891858946906374183e-7F,
      2.89137052083475648297e-6F, 6.88975834691682398426e-5F, 3.36911647825569408990e-3F, 8.04490411014108831608e-1F);
  return a <= 8.0F ? near : far / std::sqrt(a);
}

/// The same of order 1.
OPENREG_INLINE inline float scaledBesselI1OfFloat(float x) {
  const float a = std::fabs(x);
  const float near = chebyshev(
      0.5F * a - 2.0F, 9.38153738649577178388e-9F, -4.44505912879632808065e-8F, 2.00329475355213526229e-7F,
      -8.56872026469545474066e-7F, 3.47025130813767847674e-6F, -1.32731636560394358279e-5F, 4.78156510755005422638e-5F,
      -1.61760815825896745588e-4F, 5.12285956168575772895e-4F, -1.51357245063125314899e-3F, 4.15642294431288815669e-3F,
      -1.05640848946261981558e-2F, 2.47264490306265168283e-2F, -5.29459812080949914269e-2F, 1.02643658689847095384e-1F,
      -1.76416518357834055153e-1F, 2.52587186443633654823e-1F);
  const float far = chebyshev(
      32.0F / a - 2.0F, -3.83538038596423702205e-9F, -2.63146884688951950684e-8F, -2.51223623787020892529e-7F,
      -3.88256480887769039346e-6F, -1.10588938762623716291e-4F, -9.76109749136146840777e-3F,
      7.78576235018280120474e-1F);
  const float result = a <= 8.0F ? near * a : far / std::sqrt(a);
  return x < 0.0F ? -result : result;
}

/// Takes the factor exp(-|x|) off. In two halves, as the function is still finite where exp(|x|) is not.
OPENREG_INLINE inline float unscaled(float scaled, float x) {
  const float half = std::exp(0.5F * std::fabs(x));
  return scaled * half * half;
}

OPENREG_INLINE inline float besselI0OfFloat(float x) {
  const float a = std::fabs(x);
  return a == std::numeric_limits<float>::infinity() ? a : unscaled(scaledBesselI0OfFloat(x), x);
}
OPENREG_INLINE inline float besselI1OfFloat(float x) {
  const float a = std::fabs(x);
  return a == std::numeric_limits<float>::infinity() ? x : unscaled(scaledBesselI1OfFloat(x), x);
}

} // namespace openreg::kernels::math
