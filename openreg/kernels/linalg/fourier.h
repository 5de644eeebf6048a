// Discrete Fourier transforms of any length, in O(n log n).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// What transforms of one length have in common: factors and roots of unity. May be used by several threads at a time.
class Fourier {
 public:
  using Number = Complex<double>;

  Fourier(int64_t size, bool inverse);

  /// Transforms `in` into `out`, which are apart.
  void transform(const Number* in, Number* out) const;

 private:
  struct Convolution;

  void transformPart(const Number* in, int64_t stride, Number* out, int64_t size, size_t factor) const;
  void combine(Number* out, int64_t parts, int64_t size) const;
  void convolve(const Number* in, Number* out) const;
  static std::shared_ptr<const Convolution> makeConvolution(int64_t size, bool inverse);

  int64_t size_;
  std::vector<int64_t> factors_;
  std::vector<Number> roots_; ///< exp(∓2πi k/n).
  std::shared_ptr<const Convolution> convolution_;
};

} // namespace openreg::kernels
