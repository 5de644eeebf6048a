// Products of matrices and vectors of halves: each number of the matrix is read for one multiplication.
#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/linalg/half_gemm.h"
#include "kernels/linalg/half_numbers.h"
#include "kernels/loop/element.h"
#include "kernels/loop/multiversion.h"
#include "kernels/reduction/dot.h"

namespace openreg::kernels {

namespace {

/// Numbers of a sum that are kept side by side, so that an addition need not wait for the last.
constexpr int64_t kSide = 32;

OPENREG_INLINE inline float total(float (&sums)[kSide]) {
  for (int64_t half = kSide / 2; half > 0; half /= 2) {
    for (int64_t j = 0; j < half; ++j) {
      sums[j] += sums[j + half];
    }
  }
  return sums[0];
}

/// Σ x · y
inline float sumOfProducts(const float* x, const float* y, int64_t count) {
  return dot(count, x, y);
}

/// Σ x · y, where y's numbers with even places come first, then those with odd ones: so each word has two numbers of x,
/// and the upper is a float but for its lower bits, and none has to move within a vector.
OPENREG_MULTIVERSION float sumOfProducts(const BFloat16* x, const float* y, int64_t count) {
  const int64_t pairs = count / 2;
  const float* even = y;
  const float* odd = y + count - pairs;
  float sums[kSide] = {};
  int64_t i = 0;
  for (; i + kSide <= pairs; i += kSide) {
    uint32_t words[kSide];
    std::memcpy(words, x + 2 * i, sizeof(words));
    for (int64_t j = 0; j < kSide; ++j) {
      sums[j] += std::bit_cast<float>(words[j] << 16) * even[i + j];
      sums[j] += std::bit_cast<float>(words[j] & 0xFFFF0000U) * odd[i + j];
    }
  }
  for (int64_t j = 2 * i; j < count; ++j) {
    sums[0] += toFloat(x[j]) * (j % 2 == 0 ? even : odd)[j / 2];
  }
  return total(sums);
}

/// The order in which sumOfProducts() wants factors: of a line of floats, and of one of BFloat16.
void arrange(float /*of*/, const std::vector<float>& factors, std::vector<float>& to) {
  to = factors;
}

void arrange(BFloat16 /*of*/, const std::vector<float>& factors, std::vector<float>& to) {
  const auto half = (factors.size() + 1) / 2;
  to.resize(factors.size());
  for (size_t i = 0; i < factors.size(); ++i) {
    to[i / 2 + (i % 2) * half] = factors[i];
  }
}

constexpr float toFloat(float value) {
  return value;
}

/// to += Σ factor · line, for four lines at a time. @param distance Elements from one line to the next.
template <class T>
OPENREG_MULTIVERSION void
addLines(const T* lines, int64_t distance, const float* factors, int64_t lineCount, float* to, int64_t count) {
  int64_t line = 0;
  for (; line + 4 <= lineCount; line += 4) {
    const T* from = lines + line * distance;
    const float* by = factors + line;
    for (int64_t i = 0; i < count; ++i) {
      to[i] += (toFloat(from[i]) * by[0] + toFloat(from[i + distance]) * by[1]) +
               (toFloat(from[i + 2 * distance]) * by[2] + toFloat(from[i + 3 * distance]) * by[3]);
    }
  }
  for (; line < lineCount; ++line) {
    for (int64_t i = 0; i < count; ++i) {
      to[i] += toFloat(lines[line * distance + i]) * factors[line];
    }
  }
}

/// Lines of a matrix of halves as the loops above take them, and the distance between them. Those convert from BFloat16
/// in passing; from Half there is an instruction, and load() has it.
template <class T>
auto linesAt(const char* from, int64_t distance, int64_t lines, int64_t length, std::vector<float>& widened) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return std::pair(reinterpret_cast<const BFloat16*>(from), distance);
  } else {
    widened.resize(static_cast<size_t>(lines * length));
    for (int64_t line = 0; line < lines; ++line) {
      load(DType::Half, from + line * distance * kHalfSize, kHalfSize, length, widened.data() + line * length);
    }
    return std::pair(static_cast<const float*>(widened.data()), length);
  }
}

/// A product of which one factor, and so the result, is a vector: each half of the other is read for one
/// multiplication, so it isn't written down as a float.
struct HalfVectorProduct {
  static constexpr int64_t kAtOnce = 4; ///< Lines that are added up at once.
  static constexpr int64_t kLines = 64; ///< Numbers of the result that are worth splitting off.

  const GemmArgs& args;
  bool isRow; ///< Whether the result is a row.

  int64_t lines() const { return isRow ? args.n : args.m; }
  int64_t pieces() const { return (lines() + kLines - 1) / kLines; }
  int64_t grain() const { return std::max(int64_t{1}, kGrain / (kLines * args.k)); }

  template <class T>
  void run(int64_t begin, int64_t end) const {
    const Matrix& matrix = isRow ? args.b : args.a;
    const Matrix& vector = isRow ? args.a : args.b;
    const int64_t between = isRow ? matrix.colStride : matrix.rowStride; // from one number's factors to the next's
    const int64_t within = isRow ? matrix.rowStride : matrix.colStride;  // from one of its factors to the next
    std::vector<float> factors(static_cast<size_t>(args.k));
    std::vector<float> sums(static_cast<size_t>((end - begin) * kLines));
    std::vector<float> old(sums.size());
    std::vector<float> arranged;
    std::vector<float> widened;
    for (int64_t piece = begin; piece < end;) {
      const int64_t batch = piece / pieces();
      const int64_t ofBatch = std::min(end - piece, pieces() - piece % pieces());
      const int64_t first = piece % pieces() * kLines;
      const int64_t count = std::min(ofBatch * kLines, lines() - first);
      load(
          args.dtype, addressOfHalf(vector, batch, 0, 0), (isRow ? vector.colStride : vector.rowStride) * kHalfSize,
          args.k, factors.data());
      const char* from = isRow ? addressOfHalf(matrix, batch, 0, first) : addressOfHalf(matrix, batch, first, 0);
      if (within == 1) {
        arrange(std::conditional_t<std::is_same_v<T, Half>, float, T>{}, factors, arranged);
        for (int64_t i = 0; i < count; ++i) {
          const auto [line, _] = linesAt<T>(from + i * between * kHalfSize, 0, 1, args.k, widened);
          sums[static_cast<size_t>(i)] = sumOfProducts(line, arranged.data(), args.k);
        }
      } else {
        std::fill_n(sums.data(), count, 0.0F);
        for (int64_t k = 0; k < args.k; k += kAtOnce) {
          const int64_t lineCount = std::min(kAtOnce, args.k - k);
          const auto [lines, distance] = linesAt<T>(from + k * within * kHalfSize, within, lineCount, count, widened);
          addLines(lines, distance, factors.data() + k, lineCount, sums.data(), count);
        }
      }
      char* out = addressOfHalf(args.c, batch, isRow ? 0 : first, isRow ? first : 0);
      finishHalves(args, sums.data(), count, out, isRow ? args.c.colStride : args.c.rowStride, old.data());
      piece += ofBatch;
    }
  }
};

template <class T>
void multiplyVectors(void* state, int64_t begin, int64_t end) {
  static_cast<const HalfVectorProduct*>(state)->run<T>(begin, end);
}

} // namespace

void multiplyHalvesByVector(const GemmArgs& args, orKernelContext& context) {
  HalfVectorProduct vectors{args, args.m == 1};
  context.parallelFor(
      &context, args.batch * vectors.pieces(), vectors.grain(),
      args.dtype == DType::Half ? &multiplyVectors<Half> : &multiplyVectors<BFloat16>, &vectors);
}

} // namespace openreg::kernels
