// One number of each of several rows: what Fourier transforms compute with.
#pragma once

#include "kernels/launch/dtype.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

/// Rows that are transformed at a time: as many as the widest vectors hold doubles.
constexpr int kFourierRows = 8;

namespace fourier {

using Number = Complex<double>;

/// One number of each of several rows. Side by side, so that each operation on them is one of a vector.
struct Numbers {
  double real[kFourierRows];
  double imag[kFourierRows];
};

/// Numbers of each row, made of those of two others.
template <class Real, class Imag>
OPENREG_INLINE inline Numbers eachRow(Real real, Imag imag) {
  Numbers result;
  for (int row = 0; row < kFourierRows; ++row) {
    result.real[row] = real(row);
    result.imag[row] = imag(row);
  }
  return result;
}

OPENREG_INLINE inline Numbers operator+(const Numbers& a, const Numbers& b) {
  return eachRow([&](int i) { return a.real[i] + b.real[i]; }, [&](int i) { return a.imag[i] + b.imag[i]; });
}
OPENREG_INLINE inline Numbers operator-(const Numbers& a, const Numbers& b) {
  return eachRow([&](int i) { return a.real[i] - b.real[i]; }, [&](int i) { return a.imag[i] - b.imag[i]; });
}
OPENREG_INLINE inline Numbers operator*(const Numbers& a, const Number& by) {
  const double real = by.real();
  const double imag = by.imag();
  return eachRow(
      [&](int i) { return a.real[i] * real - a.imag[i] * imag; },
      [&](int i) { return a.real[i] * imag + a.imag[i] * real; });
}
OPENREG_INLINE inline Numbers operator*(const Numbers& a, double by) {
  return eachRow([&](int i) { return a.real[i] * by; }, [&](int i) { return a.imag[i] * by; });
}
/// A zero becomes 0, not −0: the imaginary parts of real numbers stay 0.
OPENREG_INLINE inline Numbers conjugate(const Numbers& a) {
  return eachRow([&](int i) { return a.real[i]; }, [&](int i) { return 0 - a.imag[i]; });
}
/// Times i, or −i.
OPENREG_INLINE inline Numbers quarterTurn(const Numbers& a, double sign) {
  return eachRow([&](int i) { return -sign * a.imag[i]; }, [&](int i) { return sign * a.real[i]; });
}

} // namespace fourier

} // namespace openreg::kernels
