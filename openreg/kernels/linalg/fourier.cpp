// Discrete Fourier transforms of any length: by factors (Cooley and Tukey), or by a convolution (Bluestein).
#include "kernels/linalg/fourier.h"

#include <cmath>
#include <numbers>

namespace openreg::kernels {

namespace {

/// A prime factor up to here is worth its square in multiplications.
constexpr int64_t kLargestFactor = 31;

Fourier::Number root(int64_t k, int64_t size, bool inverse) {
  const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
  return {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
}

/// Factors of a number, fours first.
std::vector<int64_t> factorsOf(int64_t number) {
  std::vector<int64_t> found;
  for (int64_t factor = 4; number > 1;) {
    if (number % factor == 0) {
      found.push_back(factor);
      number /= factor;
    } else {
      factor = factor == 4 ? 2 : factor == 2 ? 3 : factor + 2;
      factor = factor * factor > number && number > 4 ? number : factor;
    }
  }
  return found;
}

} // namespace

/// A length with a large prime factor is done by a convolution, whose length has none (Bluestein).
struct Fourier::Convolution {
  Fourier forward;
  Fourier backward;
  std::vector<Number> chirp;  ///< exp(∓πi k²/n).
  std::vector<Number> filter; ///< The transform of its conjugates.
};

Fourier::Fourier(int64_t size, bool inverse) : size_(size), factors_(factorsOf(size)) {
  if (!factors_.empty() && factors_.back() > kLargestFactor) {
    convolution_ = makeConvolution(size, inverse);
    return;
  }
  roots_.resize(static_cast<size_t>(size));
  for (int64_t k = 0; k < size; ++k) {
    roots_[static_cast<size_t>(k)] = root(k, size, inverse);
  }
}

void Fourier::transform(const Number* in, Number* out) const {
  convolution_ != nullptr ? convolve(in, out) : transformPart(in, 1, out, size_, 0);
}

void Fourier::transformPart(const Number* in, int64_t stride, Number* out, int64_t size, size_t factor) const {
  if (size == 1) {
    out[0] = in[0];
    return;
  }
  const int64_t parts = factors_[factor];
  const int64_t each = size / parts;
  for (int64_t part = 0; part < parts; ++part) {
    transformPart(in + part * stride, stride * parts, out + part * each, each, factor + 1);
  }
  combine(out, parts, size);
}

/// Makes one transform of `parts` transforms that lie one after the other.
void Fourier::combine(Number* out, int64_t parts, int64_t size) const {
  const int64_t each = size / parts;
  const int64_t step = size_ / size; // from one of the roots of this size to the next
  const bool inverse = size_ > 2 && roots_[1].imag() > 0;
  Number turned[kLargestFactor];
  for (int64_t k = 0; k < each; ++k) {
    for (int64_t part = 0; part < parts; ++part) {
      turned[part] = out[part * each + k] * roots_[static_cast<size_t>(part * k * step)];
    }
    if (parts == 2) {
      out[k] = turned[0] + turned[1];
      out[k + each] = turned[0] - turned[1];
    } else if (parts == 4) {
      const Number even = turned[0] + turned[2];
      const Number odd = turned[0] - turned[2];
      const Number sum = turned[1] + turned[3];
      const Number difference = turned[1] - turned[3];
      const Number quarter =
          inverse ? Number(-difference.imag(), difference.real()) : Number(difference.imag(), -difference.real());
      out[k] = even + sum;
      out[k + each] = odd + quarter;
      out[k + 2 * each] = even - sum;
      out[k + 3 * each] = odd - quarter;
    } else {
      for (int64_t at = 0; at < parts; ++at) {
        Number sum = turned[0];
        for (int64_t part = 1; part < parts; ++part) {
          sum += turned[part] * roots_[static_cast<size_t>(part * at % parts * (size_ / parts))];
        }
        out[at * each + k] = sum;
      }
    }
  }
}

std::shared_ptr<const Fourier::Convolution> Fourier::makeConvolution(int64_t size, bool inverse) {
  int64_t length = 1;
  while (length < 2 * size - 1) {
    length *= 2;
  }
  auto made = std::make_shared<Convolution>(Convolution{Fourier(length, false), Fourier(length, true), {}, {}});
  std::vector<Number> filter(static_cast<size_t>(length));
  for (int64_t k = 0; k < size; ++k) {
    const Number chirp = root(k * k % (2 * size), 2 * size, inverse);
    made->chirp.push_back(chirp);
    filter[static_cast<size_t>(k)] = filter[static_cast<size_t>(k == 0 ? 0 : length - k)] = std::conj(chirp);
  }
  made->filter.resize(filter.size());
  made->forward.transform(filter.data(), made->filter.data());
  return made;
}

void Fourier::convolve(const Number* in, Number* out) const {
  const auto& [forward, backward, chirp, filter] = *convolution_;
  std::vector<Number> a(filter.size());
  std::vector<Number> b(filter.size());
  for (size_t k = 0; k < chirp.size(); ++k) {
    a[k] = in[k] * chirp[k];
  }
  forward.transform(a.data(), b.data());
  for (size_t k = 0; k < b.size(); ++k) {
    b[k] *= filter[k];
  }
  backward.transform(b.data(), a.data());
  for (size_t k = 0; k < chirp.size(); ++k) {
    out[k] = a[k] * chirp[k] / static_cast<double>(filter.size());
  }
}

} // namespace openreg::kernels
