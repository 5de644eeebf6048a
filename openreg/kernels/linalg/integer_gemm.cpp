// The kernel "gemm.int64": products of matrices of integers, which BLAS does not have.
#include <algorithm>
#include <cstring>

#include "kernels/linalg/gemm.h"
#include "kernels/loop/block.h"
#include "kernels/loop/element.h"
#include "kernels/loop/functor.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

namespace {

/// An element of the result at a time, of those of one row together.
class IntegerGemm : public LoopOver<GemmArgs> {
 public:
  static const char* refusal(const GemmArgs& args) {
    return computeTypeOf(args.dtype) == ComputeType::Int64 ? nullptr : "dtype is not an integer type";
  }
  using LoopOver::LoopOver;
  int64_t count() const { return args_.batch * args_.m * args_.n; }
  int64_t grain() const { return grainOfRows(args_.k); }
  void operator()(int64_t begin, int64_t end) const {
    while (begin < end) {
      const int64_t row = begin / args_.n, column = begin % args_.n;
      const int64_t columns = std::min({kBlock, args_.n - column, end - begin});
      multiply(row / args_.m, row % args_.m, column, columns);
      begin += columns;
    }
  }

 private:
  char* address(const Matrix& matrix, int64_t batch, int64_t i, int64_t j) const {
    const int64_t element = batch * matrix.batchStride + i * matrix.rowStride + j * matrix.colStride;
    return static_cast<char*>(matrix.data) + element * size_;
  }

  static int64_t scalar(const unsigned char (&bytes)[16]) {
    int64_t value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }

  void multiply(int64_t batch, int64_t row, int64_t column, int64_t columns) const {
    int64_t sums[kBlock] = {};
    int64_t values[kBlock];
    for (int64_t k = 0; k < args_.k; ++k) {
      int64_t factor = 0;
      load(args_.dtype, address(args_.a, batch, row, k), 0, 1, &factor);
      load(args_.dtype, address(args_.b, batch, k, column), args_.b.colStride * size_, columns, values);
      for (int64_t j = 0; j < columns; ++j) {
        sums[j] += factor * values[j];
      }
    }
    const int64_t alpha = scalar(args_.alpha), beta = scalar(args_.beta);
    char* c = address(args_.c, batch, row, column);
    if (beta != 0) {
      load(args_.dtype, c, args_.c.colStride * size_, columns, values);
    }
    for (int64_t j = 0; j < columns; ++j) {
      sums[j] = alpha * sums[j] + (beta != 0 ? beta * values[j] : 0);
    }
    store(args_.dtype, c, args_.c.colStride * size_, columns, sums);
  }

  int64_t size_ = elementSize(args_.dtype);
};

const Loop<"gemm.int64", GemmArgs, IntegerGemm> kInteger;

} // namespace

} // namespace openreg::kernels
