// Functions that std:: has for real or for complex numbers only, for both.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/loop/convert.h"

namespace openreg::kernels::math {

/// A real number is its own; of one, std::conj makes a complex number.
template <class C>
C conjugate(C x) {
  if constexpr (kIsComplex<C>) {
    return std::conj(x);
  } else {
    return x;
  }
}

template <class C>
C exp2(C x) {
  if constexpr (kIsComplex<C>) {
    return std::exp(x * std::numbers::ln2_v<typename C::value_type>);
  } else {
    return std::exp2(x);
  }
}

template <class C>
C expm1(C x) {
  if constexpr (kIsComplex<C>) {
    const auto half = std::sin(x.imag() / 2);
    return C(std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half, std::exp(x.real()) * std::sin(x.imag()));
  } else {
    return std::expm1(x);
  }
}

template <class C>
C log2(C x) {
  if constexpr (kIsComplex<C>) {
    return std::log(x) / std::numbers::ln2_v<typename C::value_type>;
  } else {
    return std::log2(x);
  }
}

template <class C>
C log1p(C z) {
  if constexpr (kIsComplex<C>) {
    using T = C::value_type;
    const T x = z.real();
    const T y = z.imag();
    const T angle = std::atan2(y, x + 1);
    if (std::abs(z) >= T(0.5)) {
      return C(std::log(std::hypot(x + 1, y)), angle);
    }
    const T squared = x * (T(2) + x) + y * y; // |1 + z|^2 - 1, without the loss of 1 + z
    return C(squared == 0 ? x : T(0.5) * std::log1p(squared), angle);
  } else {
    return std::log1p(z);
  }
}

/// log(e^a + e^b) with the larger of them in front, so that nothing overflows.
template <class C>
C logAddExp(C a, C b) {
  if constexpr (kIsComplex<C>) {
    using T = C::value_type;
    if (a != a || b != b) {
      return C(std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::quiet_NaN());
    }
    const C larger = a.real() < b.real() ? b : a;
    const C smaller = a.real() < b.real() ? a : b;
    if (std::isinf(larger.real()) && larger.real() == smaller.real()) {
      return larger.real() < 0 ? larger : std::log(std::exp(smaller) + std::exp(larger));
    }
    return larger + log1p(std::exp(smaller - larger));
  } else {
    const C larger = a != a || a > b ? a : b;
    return a == b && std::isinf(a) ? a : larger + std::log1p(std::exp(-std::fabs(a - b)));
  }
}

} // namespace openreg::kernels::math
