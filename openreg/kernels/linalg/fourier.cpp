// Discrete Fourier transforms of any length: by factors (Cooley and Tukey), or by a convolution (Bluestein).
#include "kernels/linalg/fourier.h"

#include <cmath>
#include <numbers>

#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

using fourier::Number;
using fourier::Numbers;

/// A prime factor up to here is worth its square in multiplications.
constexpr int64_t kLargestFactor = 31;

/// Factors of a number, fours last: transforms begin with those, on numbers that lie apart.
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
  return {found.rbegin(), found.rend()};
}

/// Roots of unity, of which every `step`-th counts.
struct Roots {
  const Number* all;
  int64_t size;
  int64_t step;

  const Number& operator[](int64_t k) const { return all[k * step]; }
  /// The sign of i in the first.
  double sign() const { return size > 2 && all[1].imag() > 0 ? 1 : -1; }
};

/// Makes one transform of two, or four, or any number of them, which lie one after the other.
OPENREG_MULTIVERSION void combineTwo(Numbers* out, int64_t each, const Roots& roots) {
  for (int64_t k = 0; k < each; ++k) {
    const Numbers first = out[k];
    const Numbers second = k == 0 ? out[each] : out[k + each] * roots[k];
    out[k] = first + second;
    out[k + each] = first - second;
  }
}

/// Four numbers into four that are `each` apart.
OPENREG_INLINE inline void transformFour(
    const Numbers& a, const Numbers& b, const Numbers& c, const Numbers& d, double sign, Numbers* out, int64_t each) {
  const Numbers even = a + c;
  const Numbers odd = a - c;
  const Numbers sum = b + d;
  const Numbers turned = quarterTurn(b - d, sign);
  out[0] = even + sum;
  out[each] = odd + turned;
  out[2 * each] = even - sum;
  out[3 * each] = odd - turned;
}

/// The root of the first is 1. It need not be multiplied with: an infinite number would become none.
OPENREG_MULTIVERSION void firstFour(const Numbers* in, int64_t stride, Numbers* out, int64_t each, const Roots& roots) {
  transformFour(in[0], in[stride], in[2 * stride], in[3 * stride], roots.sign(), out, each);
}

OPENREG_MULTIVERSION void combineFour(Numbers* out, int64_t each, const Roots& roots) {
  const double sign = roots.sign();
  firstFour(out, each, out, each, roots);
  for (int64_t k = 1; k < each; ++k) {
    transformFour(
        out[k], out[k + each] * roots[k], out[k + 2 * each] * roots[2 * k], out[k + 3 * each] * roots[3 * k], sign,
        out + k, each);
  }
}

OPENREG_MULTIVERSION void combineAny(Numbers* out, int64_t each, int64_t parts, const Roots& roots) {
  Numbers turned[kLargestFactor];
  for (int64_t k = 0; k < each; ++k) {
    for (int64_t part = 0; part < parts; ++part) {
      turned[part] = out[part * each + k] * roots[part * k];
    }
    for (int64_t at = 0; at < parts; ++at) {
      Numbers sum = turned[0];
      for (int64_t part = 1; part < parts; ++part) {
        sum = sum + turned[part] * roots[part * at % parts * each];
      }
      out[at * each + k] = sum;
    }
  }
}

/// a · b, number by number.
OPENREG_MULTIVERSION void multiplyEach(const Numbers* a, const std::vector<Number>& b, Numbers* to) {
  for (size_t k = 0; k < b.size(); ++k) {
    to[k] = a[k] * b[k];
  }
}

} // namespace

/// A length with a large prime factor is done by a convolution, whose length has none (Bluestein).
struct Fourier::Convolution {
  Fourier forward;
  Fourier backward;
  std::vector<Number> chirp;  ///< exp(∓πi k²/n).
  std::vector<Number> filter; ///< The transform of its conjugates, divided by the length.
};

// Quarter turns to the last bit, so that an infinite number times 0 is no number.
fourier::Number Fourier::root(int64_t k, int64_t size, bool inverse) {
  constexpr double kCosines[] = {1, 0, -1, 0, 1};
  const int64_t quarter = 4 * k % size == 0 ? 4 * k / size % 4 : -1;
  const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
  const double cosine = quarter >= 0 ? kCosines[quarter] : std::cos(angle);
  const double sine = quarter >= 0 ? -kCosines[quarter + 1] : std::sin(angle);
  return {cosine, inverse ? sine : -sine};
}

Fourier::Fourier(int64_t size, bool inverse) : size_(size), factors_(factorsOf(size)) {
  if (!factors_.empty() && factors_.front() > kLargestFactor) {
    convolution_ = makeConvolution(size, inverse);
    return;
  }
  roots_.resize(static_cast<size_t>(size));
  for (int64_t k = 0; k < size; ++k) {
    roots_[static_cast<size_t>(k)] = root(k, size, inverse);
  }
}

void Fourier::transform(const Numbers* in, Numbers* out) const {
  convolution_ != nullptr ? convolve(in, out) : transformPart(in, 1, out, size_, 0);
}

void Fourier::transformPart(const Numbers* in, int64_t stride, Numbers* out, int64_t size, size_t factor) const {
  if (size == 1) {
    out[0] = in[0];
    return;
  }
  const int64_t parts = factors_[factor];
  const int64_t each = size / parts;
  const Roots roots{roots_.data(), size_, size_ / size};
  if (size == 4 && parts == 4) {
    return firstFour(in, stride, out, each, roots);
  }
  for (int64_t part = 0; part < parts; ++part) {
    transformPart(in + part * stride, stride * parts, out + part * each, each, factor + 1);
  }
  if (parts == 2) {
    combineTwo(out, each, roots);
  } else if (parts == 4) {
    combineFour(out, each, roots);
  } else {
    combineAny(out, each, parts, roots);
  }
}

std::shared_ptr<const Fourier::Convolution> Fourier::makeConvolution(int64_t size, bool inverse) {
  int64_t length = 1;
  while (length < 2 * size - 1) {
    length *= 2;
  }
  auto made = std::make_shared<Convolution>(Convolution{Fourier(length, false), Fourier(length, true), {}, {}});
  std::vector<Numbers> filter(static_cast<size_t>(length)); // as the first row, beside rows of zeros
  for (int64_t k = 0; k < size; ++k) {
    const Number chirp = root(k * k % (2 * size), 2 * size, inverse);
    made->chirp.push_back(chirp);
    filter[static_cast<size_t>(k)] = filter[static_cast<size_t>(k == 0 ? 0 : length - k)] =
        Numbers{{chirp.real()}, {-chirp.imag()}};
  }
  std::vector<Numbers> transformed(filter.size());
  made->forward.transform(filter.data(), transformed.data());
  const double each = 1 / static_cast<double>(length); // what the way there and back multiplies with
  for (const auto& number : transformed) {
    made->filter.emplace_back(number.real[0] * each, number.imag[0] * each);
  }
  return made;
}

void Fourier::convolve(const Numbers* in, Numbers* out) const {
  const auto& [forward, backward, chirp, filter] = *convolution_;
  std::vector<Numbers> a(filter.size());
  std::vector<Numbers> b(filter.size());
  multiplyEach(in, chirp, a.data());
  forward.transform(a.data(), b.data());
  multiplyEach(b.data(), filter, b.data());
  backward.transform(b.data(), a.data());
  multiplyEach(a.data(), chirp, out);
}

} // namespace openreg::kernels
