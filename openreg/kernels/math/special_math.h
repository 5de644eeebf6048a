// Special functions of a real number that the C library lacks, in double. Where a loop of floats is hot,
// vector_special.h has another form.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

namespace openreg::kernels::math {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// log |gamma(x)|. Unlike std::lgamma, leaves no sign behind for other threads to stumble over.
inline double logGamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

/// The logarithmic derivative of gamma: by recurrence up to where its asymptotic series is good.
inline double digamma(double x) {
  if (x == 0.0) {
    return std::copysign(kInfinity, -x);
  }
  if (x < 0.0) { // reflection
    if (x == std::floor(x)) {
      return kNan;
    }
    // By the nearest integer: what is left of a tiny number is the number itself.
    return digamma(1.0 - x) - std::numbers::pi / std::tan(std::numbers::pi * (x - std::nearbyint(x)));
  }
  double below = 0.0;
  while (x < 10.0) {
    below += 1.0 / x;
    x += 1.0;
  }
  const double z = 1.0 / (x * x);
  const double series =
      z *
      (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return std::log(x) - 0.5 / x - series - below;
}

/// Hurwitz's zeta function: the sum of (x + k)^-s. A few terms, and the rest by Euler and Maclaurin.
inline double zeta(double s, double x) {
  if (s == 1.0) {
    return kInfinity;
  }
  if (s < 1.0) {
    return kNan;
  }
  if (x <= 0.0) {
    if (x == std::floor(x)) {
      return kInfinity;
    }
    if (s != std::floor(s)) {
      return kNan; // a power of a negative number
    }
  }
  double sum = 0.0;
  double a = x;
  for (int k = 0; k < 9 || a < 9.0; ++k) {
    const double term = std::pow(a, -s);
    sum += term;
    if (term < sum * 1e-17 && a > 0.0) {
      return sum;
    }
    a += 1.0;
  }
  const double power = std::pow(a, -s);
  sum += std::pow(a, 1.0 - s) / (s - 1.0) + 0.5 * power;
  // Bernoulli numbers over factorials: B_2k / (2k)!
  constexpr double kBernoulli[] = {
      1.0 / 12,
      -1.0 / 720,
      1.0 / 30240,
      -1.0 / 1209600,
      1.0 / 47900160,
      -691.0 / 1307674368000.0,
      1.0 / 74724249600.0,
      -3617.0 / 10670622842880000.0};
  double factor = s * power / a;
  for (int k = 0; k < 8; ++k) {
    sum += kBernoulli[k] * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (a * a);
  }
  return sum;
}

/// The n-th derivative of digamma.
inline double polygamma(double n, double x) {
  const double sign = std::fmod(n, 2.0) == 0.0 ? -1.0 : 1.0;
  return sign * std::exp(logGamma(n + 1.0)) * zeta(n + 1.0, x);
}

/// Where erf is `x`.
inline double inverseErf(double x) {
  const double rest = 1.0 - std::fabs(x);
  if (!(rest > 0.0)) {
    return rest == 0.0 ? std::copysign(kInfinity, x) : kNan;
  }
  // After S. Winitzki, good to three digits; then Halley's method doubles and triples them.
  const double a = 0.147;
  const double logarithm = std::log(rest * (2.0 - rest));
  const double b = 2.0 / (std::numbers::pi * a) + 0.5 * logarithm;
  double y = std::sqrt(std::sqrt(b * b - logarithm / a) - b);
  for (int i = 0; i < 4; ++i) {
    const double error = rest < 0.5 ? rest - std::erfc(y) : std::erf(y) - std::fabs(x);
    const double slope = 2.0 * std::numbers::inv_sqrtpi * std::exp(-y * y);
    const double newton = error / slope;
    y -= newton / (1.0 + y * newton);
  }
  return std::copysign(y, x);
}

/// exp(x^2) * erfc(x).
inline double scaledErfc(double x) {
  if (x < 10.0) {
    return std::exp(x * x) * std::erfc(x);
  }
  double series = 1.0; // asymptotic
  double term = 1.0;
  for (int k = 1; k < 9; ++k) {
    term *= -(2.0 * k - 1.0) / (2.0 * x * x);
    series += term;
  }
  return std::numbers::inv_sqrtpi / x * series;
}

/// The logarithm of the normal distribution's share below x.
inline double logNormalShare(double x) {
  const double t = x / std::numbers::sqrt2;
  return x < -1.0 ? std::log(scaledErfc(-t) / 2.0) - t * t : std::log1p(-std::erfc(t) / 2.0);
}

/// The modified Bessel function I of order 0 or 1, times exp(-|x|).
inline double scaledBesselI(int order, double x) {
  const double a = std::fabs(x);
  if (!(a < kInfinity)) {
    return a != kInfinity ? x : order == 1 ? std::copysign(0.0, x) : 0.0;
  }
  double result = 0.0;
  if (a < 30.0) { // its power series, in which nothing is subtracted
    double term = order == 0 ? 1.0 : a / 2.0;
    for (int k = 1; term > result * 1e-17; ++k) {
      result += term;
      term *= a * a / (4.0 * k * (k + order));
    }
    result *= std::exp(-a);
  } else { // asymptotic
    const double mu = 4.0 * order * order;
    double term = 1.0;
    for (int k = 1; k < 30 && std::fabs(term) > 1e-17; ++k) {
      result += term;
      const double odd = 2.0 * k - 1.0;
      term *= (odd * odd - mu) / (8.0 * k * a);
    }
    result /= std::sqrt(2.0 * std::numbers::pi * a);
  }
  return order == 1 && x < 0.0 ? -result : result;
}

} // namespace openreg::kernels::math
