// Discrete Fourier transforms between real numbers and complex ones.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/linalg/fourier.h"

namespace openreg::kernels {

/// A transform of an even number of real numbers by one of half as many complex ones, each of which holds two that
/// follow each other. Of the results, the second half is conjugates of the first: only that, size / 2 + 1, is made or
/// read.
class RealFourier {
 public:
  RealFourier(int64_t size, bool inverse);

  /// Transforms pairs of real numbers.
  void fromReal(const Fourier::Numbers* pairs, Fourier::Numbers* out) const;

  /// Transforms into pairs of real numbers. `in` is lost.
  void toReal(Fourier::Numbers* in, Fourier::Numbers* pairs) const;

 private:
  Fourier half_;
  std::vector<Fourier::Number> roots_; ///< exp(∓2πi k/n), a quarter turned.
};

} // namespace openreg::kernels
