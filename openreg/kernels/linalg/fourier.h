// Discrete Fourier transforms of any length, in O(n log n).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/linalg/fourier_numbers.h"

namespace openreg::kernels {

/// What transforms of one length have in common: factors and roots of unity. May be used by several threads at a time.
class Fourier {
 public:
  using Number = fourier::Number;
  using Numbers = fourier::Numbers;

  /// exp(∓2πi k/size).
  static Number root(int64_t k, int64_t size, bool inverse);

  Fourier(int64_t size, bool inverse);

  int64_t size() const { return size_; }

  /// Transforms `in` into `out`, which are apart.
  void transform(const Numbers* in, Numbers* out) const;

 private:
  struct Convolution;

  void transformPart(const Numbers* in, int64_t stride, Numbers* out, int64_t size, size_t factor) const;
  void convolve(const Numbers* in, Numbers* out) const;
  static std::shared_ptr<const Convolution> makeConvolution(int64_t size, bool inverse);

  int64_t size_;
  std::vector<int64_t> factors_;
  std::vector<Number> roots_; ///< exp(∓2πi k/n).
  std::shared_ptr<const Convolution> convolution_;
};

} // namespace openreg::kernels
