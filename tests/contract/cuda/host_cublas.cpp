// A libcublas that multiplies on the host's processor, for tests: at once, whatever the stream.
#include <complex>
#include <cstdint>
#include <cstring>

namespace {

struct Half {
  _Float16 value;
  operator float() const { return static_cast<float>(value); }
  Half& operator=(float from) {
    value = static_cast<_Float16>(from);
    return *this;
  }
};
struct BFloat16 {
  uint16_t bits;
  operator float() const {
    const uint32_t word = uint32_t{bits} << 16;
    float value = 0;
    std::memcpy(&value, &word, sizeof(value));
    return value;
  }
  BFloat16& operator=(float from) {
    uint32_t word = 0;
    std::memcpy(&word, &from, sizeof(word));
    bits = static_cast<uint16_t>((word + 0x7FFF + ((word >> 16) & 1)) >> 16);
    return *this;
  }
};

/// A matrix of `leading` elements a column.
template <class T>
struct Matrix {
  T* data;
  int leading;
  bool transposed;
  T& operator()(int row, int column) const {
    return data[transposed ? int64_t{row} * leading + column : int64_t{column} * leading + row];
  }
};

template <class T, class Sum>
void multiply(int m, int n, int k, const void* alpha, Matrix<T> a, Matrix<T> b, const void* beta, Matrix<T> c) {
  const Sum factor = *static_cast<const Sum*>(alpha);
  const Sum kept = *static_cast<const Sum*>(beta);
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      Sum sum(0);
      for (int i = 0; i < k; ++i) {
        sum += Sum(a(row, i)) * Sum(b(i, column));
      }
      c(row, column) = factor * sum + (kept == Sum(0) ? Sum(0) : kept * Sum(c(row, column)));
    }
  }
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int cublasCreate_v2(void** handle) {
  static char object;
  *handle = &object;
  return 0;
}
EXPORT int cublasSetStream_v2(void* /*handle*/, void* /*stream*/) {
  return 0;
}
EXPORT int cublasGemmStridedBatchedEx(
    void* /*handle*/,
    int transA,
    int transB,
    int m,
    int n,
    int k,
    const void* alpha,
    void* a,
    int type,
    int leadingA,
    long long strideA,
    void* b,
    int typeB,
    int leadingB,
    long long strideB,
    const void* beta,
    void* c,
    int typeC,
    int leadingC,
    long long strideC,
    int batch,
    int computeType,
    int /*algorithm*/) {
  constexpr int kInvalidValue = 7;
  const bool wide = type == 1 || type == 5;
  if (type != typeB || type != typeC || computeType != (wide ? 70 : 68) || leadingC < m ||
      leadingA < (transA ? k : m) || leadingB < (transB ? n : k)) {
    return kInvalidValue;
  }
  const auto all = [&]<class T, class Sum>(T, Sum) {
    for (int64_t i = 0; i < batch; ++i) {
      multiply<T, Sum>(
          m, n, k, alpha, {static_cast<T*>(a) + i * strideA, leadingA, transA != 0},
          {static_cast<T*>(b) + i * strideB, leadingB, transB != 0}, beta,
          {static_cast<T*>(c) + i * strideC, leadingC, false});
    }
    return 0;
  };
  switch (type) {
    case 0:
      return all(float{}, float{});
    case 1:
      return all(double{}, double{});
    case 2:
      return all(Half{}, float{});
    case 4:
      return all(std::complex<float>{}, std::complex<float>{});
    case 5:
      return all(std::complex<double>{}, std::complex<double>{});
    case 14:
      return all(BFloat16{}, float{});
    default:
      return kInvalidValue;
  }
}
