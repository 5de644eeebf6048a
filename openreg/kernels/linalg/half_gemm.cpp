// Products of matrices of halves: tiles become floats in the processor's cache, and BLAS multiplies those.
#include "kernels/linalg/half_gemm.h"

#include <algorithm>
#include <vector>

#include "kernels/linalg/half_numbers.h"
#include "kernels/linalg/small_gemm.h"

namespace openreg::kernels {

namespace {

/// Rows and columns of a tile, and factors that are multiplied at a time: three such tiles stay in a core's cache.
constexpr int64_t kTile = 256;
constexpr int64_t kSmallestTile = 32;
/// A product in fewer tiles leaves cores without work.
constexpr int64_t kTiles = 16;
/// Multiplications that are worth a thread of their own.
constexpr int64_t kTileWork = 1'000'000;

/// A product, and the tiles that its result is cut into.
struct HalfProduct {
  const GemmArgs& args;
  const Blas* blas;
  int64_t rows;
  int64_t columns;

  int64_t down() const { return (args.m + rows - 1) / rows; }
  int64_t across() const { return (args.n + columns - 1) / columns; }
  int64_t work() const { return rows * columns * args.k; }

  HalfProduct(const GemmArgs& args, const Blas* blas)
      : args(args), blas(blas), rows(std::min(args.m, kTile)), columns(std::min(args.n, kTile)) {
    while (args.batch * down() * across() < kTiles && work() > 2 * kTileWork &&
           std::max(rows, columns) > kSmallestTile) {
      int64_t& longer = rows > columns ? rows : columns;
      longer = (longer + 1) / 2;
    }
  }
};

// LITERALINCLUDE START: HALF TILE
/// A part of a factor as floats. They lie as the halves do, by rows or by columns, so that each is read in its order.
Factor<float> widen(
    const GemmArgs& args,
    const Matrix& matrix,
    int64_t batch,
    int64_t row,
    int64_t rows,
    int64_t column,
    int64_t columns,
    float* to) {
  const bool byColumns = matrix.colStride != 1;
  const int64_t lines = byColumns ? columns : rows;
  const int64_t length = byColumns ? rows : columns;
  const int64_t distance = (byColumns ? matrix.colStride : matrix.rowStride) * kHalfSize;
  const char* from = addressOfHalf(matrix, batch, row, column);
  if (distance == length * kHalfSize) { // one piece
    load(args.dtype, from, kHalfSize, lines * length, to);
    return {to, length, byColumns};
  }
  for (int64_t line = 0; line < lines; ++line) {
    load(args.dtype, from + line * distance, kHalfSize, length, to + line * length);
  }
  return {to, length, byColumns};
}

void multiplyTiles(const HalfProduct& product, int64_t begin, int64_t end) {
  const GemmArgs& args = product.args;
  const int64_t depth = std::min(args.k, kTile);
  std::vector<float> a(static_cast<size_t>(product.rows * depth));
  std::vector<float> b(static_cast<size_t>(depth * product.columns));
  std::vector<float> c(static_cast<size_t>(product.rows * product.columns));
  std::vector<float> old(c.size());
  for (int64_t tile = begin; tile < end; ++tile) {
    const int64_t batch = tile / (product.down() * product.across());
    const int64_t row = tile / product.across() % product.down() * product.rows;
    const int64_t column = tile % product.across() * product.columns;
    const int64_t rows = std::min(product.rows, args.m - row);
    const int64_t columns = std::min(product.columns, args.n - column);
    for (int64_t k = 0; k < args.k; k += depth) {
      const int64_t count = std::min(depth, args.k - k);
      multiply<float>(
          product.blas, rows, columns, count, widen(args, args.a, batch, row, rows, k, count, a.data()),
          widen(args, args.b, batch, k, count, column, columns, b.data()), k > 0, c.data(), columns);
    }
    const bool isOnePiece = args.c.rowStride == columns;
    for (int64_t i = 0; i < (isOnePiece ? 1 : rows); ++i) {
      finishHalves(
          args, c.data() + i * columns, isOnePiece ? rows * columns : columns,
          addressOfHalf(args.c, batch, row + i, column), 1, old.data());
    }
  }
}
// LITERALINCLUDE END: HALF TILE

} // namespace

void multiplyHalves(const GemmArgs& args, const Blas* blas, orKernelContext& context) {
  if (args.m == 1 || args.n == 1) {
    return multiplyHalvesByVector(args, context);
  }
  HalfProduct product(args, blas);
  context.parallelFor(
      &context, args.batch * product.down() * product.across(), kTileWork / std::max(int64_t{1}, product.work()) + 1,
      [](void* state, int64_t begin, int64_t end) {
        multiplyTiles(*static_cast<const HalfProduct*>(state), begin, end);
      },
      &product);
}

} // namespace openreg::kernels
