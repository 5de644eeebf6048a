// The kernels "gemm.…": matrix products, by the vendor's library where it has the type.
#include "kernels/linalg/gemm.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/launch/registry.h"
#include "kernels/linalg/blas.h"
#include "kernels/linalg/half_gemm.h"
#include "kernels/loop/element.h"

namespace openreg::kernels {

namespace {

/// Multiplications that are worth a thread of their own.
constexpr int64_t kWork = 1'000'000;

/// A product that is being computed, cut into panels along the rows or the columns of all matrices of the batch.
struct Product {
  static constexpr int64_t kPanel = 16; ///< Rows or columns: what BLAS computes at a time in registers, or more.

  const GemmArgs& args;
  const Blas* blas;
  bool byRows; ///< Which of the two there are more of. Columns if equal: BLAS repeats less work for them.

  int64_t lines() const { return byRows ? args.m : args.n; }
  int64_t panels() const { return (lines() + kPanel - 1) / kPanel; }

  /// Fewest panels that are worth a thread of their own. By a vector, each number of the matrix is read for one
  /// multiplication.
  int64_t grain() const {
    const int64_t perPanel = args.k * kPanel * (byRows ? args.n : args.m);
    const int64_t work = std::min(args.m, args.n) == 1 ? kGrain : kWork;
    return work / std::max(int64_t{1}, perPanel) + 1;
  }

  /// Calls `use(batch, row, rows, column, columns)` for each part of a matrix in the panels [begin, end).
  template <class Use>
  void parts(int64_t begin, int64_t end, Use use) const {
    while (begin < end) {
      const int64_t batch = begin / panels();
      const int64_t first = begin % panels();
      const int64_t count = std::min(end - begin, panels() - first);
      const int64_t line = first * kPanel;
      const int64_t lineCount = std::min(count * kPanel, lines() - line);
      if (byRows) {
        use(batch, line, lineCount, int64_t{0}, args.n);
      } else {
        use(batch, int64_t{0}, args.m, line, lineCount);
      }
      begin += count;
    }
  }
};

template <class T>
T* at(const Matrix& matrix, int64_t batch, int64_t row, int64_t column) {
  return static_cast<T*>(matrix.data) + batch * matrix.batchStride + row * matrix.rowStride + column * matrix.colStride;
}

template <class T>
T scalar(const unsigned char (&bytes)[16]) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

/// A matrix as BLAS takes it: rows that lie one behind the other, or columns, and the distance between them.
struct Layout {
  int transposed;
  int leading;

  Layout(const Matrix& matrix, int64_t rows, int64_t columns) {
    // Of a single row or column the distance is any number that BLAS accepts.
    const bool byColumns = matrix.colStride != 1 && columns != 1;
    transposed = byColumns ? Blas::kTranspose : Blas::kNoTranspose;
    const int64_t length = byColumns ? rows : columns;
    const int64_t distance = byColumns ? matrix.colStride : matrix.rowStride;
    leading = static_cast<int>(std::max({distance, length, int64_t{1}}));
  }
};

/// That one of BLAS's functions which takes numbers of type T.
template <class T, class S, class D, class C, class Z>
auto functionFor(S s, D d, C c, Z z) {
  if constexpr (std::is_same_v<T, float>) {
    return s;
  } else if constexpr (std::is_same_v<T, double>) {
    return d;
  } else if constexpr (std::is_same_v<T, Complex<float>>) {
    return c;
  } else {
    return z;
  }
}

/// A number as BLAS takes it: complex ones by pointer.
template <class T>
auto passed(const T& number) {
  if constexpr (std::is_floating_point_v<T>) {
    return number;
  } else {
    return static_cast<const void*>(&number);
  }
}

/// Numbers with others between them.
template <class T>
struct Vector {
  T* data;
  int64_t stride;
};

/// y = beta · y + alpha · a · x. BLAS has a faster way than to multiply by a matrix of one column.
/// @param lines Rows of a, or columns of the transposed matrix: numbers in y.
/// @param byLines Whether each of them is in one piece. Else their first numbers are, and so on.
template <class T>
void multiplyByVector(
    const Product& product,
    int64_t lines,
    bool byLines,
    const T* a,
    int leading,
    const Vector<const T>& x,
    const Vector<T>& y) {
  const Blas& blas = *product.blas;
  const int k = static_cast<int>(product.args.k);
  const T alpha = scalar<T>(product.args.alpha);
  const T beta = scalar<T>(product.args.beta);
  for (int64_t i = 0; beta == T(0) && i < lines; ++i) { // What was there doesn't count, not even a NaN.
    y.data[i * y.stride] = T(0);
  }
  const auto gemv = functionFor<T>(blas.sgemv, blas.dgemv, blas.cgemv, blas.zgemv);
  gemv(
      Blas::kRowMajor, byLines ? Blas::kNoTranspose : Blas::kTranspose, byLines ? static_cast<int>(lines) : k,
      byLines ? k : static_cast<int>(lines), passed(alpha), a, leading, x.data, static_cast<int>(x.stride),
      passed(beta), y.data, static_cast<int>(y.stride));
}

template <class T>
void multiply(const Product& product, int64_t batch, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  const GemmArgs& args = product.args;
  const T* a = at<T>(args.a, batch, row, 0);
  const T* b = at<T>(args.b, batch, 0, column);
  T* c = at<T>(args.c, batch, row, column);
  const Layout layoutA(args.a, args.m, args.k);
  const Layout layoutB(args.b, args.k, args.n);
  if (args.n == 1) {
    const bool byLines = layoutA.transposed == Blas::kNoTranspose;
    return multiplyByVector<T>(
        product, rows, byLines, a, layoutA.leading, {b, args.b.rowStride}, {c, args.c.rowStride});
  }
  if (args.m == 1) {
    const bool byLines = layoutB.transposed == Blas::kTranspose;
    return multiplyByVector<T>(product, columns, byLines, b, layoutB.leading, {a, args.a.colStride}, {c, 1});
  }
  const T alpha = scalar<T>(args.alpha);
  const T beta = scalar<T>(args.beta);
  const auto gemm = functionFor<T>(product.blas->sgemm, product.blas->dgemm, product.blas->cgemm, product.blas->zgemm);
  gemm(
      Blas::kRowMajor, layoutA.transposed, layoutB.transposed, static_cast<int>(rows), static_cast<int>(columns),
      static_cast<int>(args.k), passed(alpha), a, layoutA.leading, b, layoutB.leading, passed(beta), c,
      static_cast<int>(std::max(args.c.rowStride, args.n)));
}

template <class T>
struct FloatingGemm {
  void operator()(const GemmArgs& args, orKernelContext& context) const {
    const int64_t largest = std::max(
        {args.m, args.n, args.k, args.a.rowStride, args.a.colStride, args.b.rowStride, args.b.colStride,
         args.c.rowStride});
    const bool isHalf = std::is_same_v<T, float> && (args.dtype == DType::Half || args.dtype == DType::BFloat16);
    if ((args.dtype != kDTypeOf<T> && !isHalf) || args.c.colStride != 1 || largest > std::numeric_limits<int>::max()) {
      return context.fail(&context, orErrorInvalidValue, "a type, stride or size that BLAS does not take");
    }
    const char* why = nullptr;
    Product product{args, blas(why), args.m > args.n};
    if (product.blas == nullptr) {
      return context.fail(&context, orErrorNotFound, why);
    }
    if (isHalf) {
      return multiplyHalves(args, product.blas, context);
    }
    context.parallelFor(
        &context, args.batch * product.panels(), product.grain(),
        [](void* state, int64_t begin, int64_t end) {
          const auto& self = *static_cast<const Product*>(state);
          const BlasCall call;
          self.parts(begin, end, [&](auto... part) { multiply<T>(self, part...); });
        },
        &product);
  }
};

const RegisterTypes<"gemm", GemmArgs, FloatingGemm, float, double, Complex<float>, Complex<double>> kFloating;

} // namespace

} // namespace openreg::kernels
