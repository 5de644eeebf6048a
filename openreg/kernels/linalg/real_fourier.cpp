// Transforms of real numbers: the even ones as real parts, the odd ones as imaginary parts of numbers.
#include "kernels/linalg/real_fourier.h"

namespace openreg::kernels {

namespace {

using fourier::eachRow;
using fourier::Number;
using fourier::Numbers;

/// Takes apart, or puts together, the transforms e of the even and o of the odd ones. Of the numbers z with z[k] = e[k]
/// + i o[k], z[k] + z̄[h − k] is 2 e[k], and z[k] − z̄[h − k] is 2i o[k]. Of x[k] = e[k] + w^k o[k] it is the same with
/// w^k in place of i. So both ways are one loop with other roots. Not for the first, which has real parts only.
OPENREG_MULTIVERSION void fold(Numbers* x, int64_t half, double scale, const std::vector<Number>& roots) {
  for (int64_t k = 1; k <= half / 2; ++k) {
    const Numbers other = conjugate(x[half - k]);
    const Numbers sum = (x[k] + other) * scale;
    const Numbers difference = (x[k] - other) * roots[static_cast<size_t>(k)];
    x[k] = sum + difference;
    x[half - k] = conjugate(sum - difference);
  }
}

} // namespace

RealFourier::RealFourier(int64_t size, bool inverse) : half_(size / 2, inverse) {
  const Number turn = inverse ? Number(0, 1) : Number(0, -0.5);
  for (int64_t k = 0; k <= size / 4; ++k) {
    roots_.push_back(Fourier::root(k, size, inverse) * turn);
  }
}

// e[0] and o[0] are real. z[0] has them as its parts; of x, the first is their sum, and the last their difference.

void RealFourier::fromReal(const Numbers* pairs, Numbers* out) const {
  const int64_t half = half_.size();
  half_.transform(pairs, out);
  const Numbers ends = out[0];
  const auto nothing = [](int) { return 0.0; };
  out[0] = eachRow([&](int i) { return ends.real[i] + ends.imag[i]; }, nothing);
  out[half] = eachRow([&](int i) { return ends.real[i] - ends.imag[i]; }, nothing);
  fold(out, half, 0.5, roots_);
}

void RealFourier::toReal(Numbers* in, Numbers* pairs) const {
  const int64_t half = half_.size();
  const Numbers first = in[0];
  const Numbers last = in[half];
  in[0] =
      eachRow([&](int i) { return first.real[i] + last.real[i]; }, [&](int i) { return first.real[i] - last.real[i]; });
  fold(in, half, 1, roots_);
  half_.transform(in, pairs);
}

} // namespace openreg::kernels
