// Distances of a row from others, and what differences add to a gradient: the loops that are vector code.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "kernels/linalg/distance_norms.h"
#include "kernels/linalg/distance_rows.h"
#include "kernels/loop/block.h"
#include "kernels/loop/multiversion.h"
#include "kernels/loop/row.h"

namespace openreg::kernels {

/// Rows whose distances from another one are computed side by side, so that no sum goes across a vector.
constexpr int64_t kTile = 32;

/// The sums of terms of the differences between a row and those of a tile. In T a block at a time, and then wider.
template <class T, class N, class C>
OPENREG_MULTIVERSION static void sumTerms(N norm, const C* row, const C* tile, int64_t columns, double* to) {
  std::fill_n(to, kTile, 0.0);
  for (int64_t begin = 0; begin < columns; begin += kBlock) {
    T sums[kTile] = {};
    for (int64_t i = begin; i < std::min(columns, begin + kBlock); ++i) {
      for (int64_t k = 0; k < kTile; ++k) {
        sums[k] = norm.join(sums[k], norm.term(std::abs(T(row[i]) - T(tile[i * kTile + k]))));
      }
    }
    for (int64_t k = 0; k < kTile; ++k) {
      to[k] = norm.join(to[k], static_cast<double>(sums[k]));
    }
  }
}

template <class N, class C>
OPENREG_MULTIVERSION static void finishSums(N norm, const double* sums, C* to) {
  for (int64_t k = 0; k < kTile; ++k) {
    to[k] = static_cast<C>(norm.finish(sums[k]));
  }
}

/// Some rows: their first elements side by side, then their second ones, and so on.
template <class C>
class Tile {
 public:
  explicit Tile(int64_t columns) : columns_(columns), elements_(static_cast<size_t>(columns * kTile)) {}

  /// Takes some rows of a matrix, which may be fewer than there is room for.
  void take(const C* from, int64_t rows) {
    for (int64_t k = 0; k < rows; ++k) {
      for (int64_t i = 0; i < columns_; ++i) {
        elements_[static_cast<size_t>(i * kTile + k)] = from[k * columns_ + i];
      }
    }
  }

  /// The distances of a row from each of these.
  template <class N>
  void distances(N norm, const C* row, C (&to)[kTile]) const {
    double sums[kTile];
    using T = N::template Term<C>;
    sumTerms<T>(norm, row, elements_.data(), columns_, sums);
    if (std::is_same_v<T, float> && !std::all_of(sums, sums + kTile, &isOfFloat)) {
      sumTerms<double>(norm, row, elements_.data(), columns_, sums);
    }
    finishSums(norm, sums, to);
  }

 private:
  int64_t columns_;
  std::vector<C> elements_;
};

/// Writes the distances of each row of a run from all others.
/// @param after Whether the others are those of the same matrix that come after the row.
/// @param placeOf `placeOf(row, other)` is where a distance goes; with one more `other`, one further.
template <class C, class Place>
void findDistances(const DistanceArgs& args, const RowRun& run, bool after, C* to, Place placeOf) {
  const C* rows = static_cast<const C*>(args.first) + run.batch * args.rows * args.columns;
  const C* others = after ? rows : static_cast<const C*>(args.second) + run.batch * args.others * args.columns;
  Tile<C> tile(args.columns);
  C distances[kTile];
  withNorm(args.p, [&](auto norm) {
    for (int64_t other = after ? run.begin + 1 : 0; other < args.others; other += kTile) {
      const int64_t count = std::min(kTile, args.others - other);
      const int64_t end = after ? std::min(run.end, other + count - 1) : run.end;
      tile.take(others + other * args.columns, count);
      for (int64_t row = run.begin; row < end; ++row) {
        tile.distances(norm, rows + row * args.columns, distances);
        const int64_t skipped = after ? std::max(int64_t{0}, row + 1 - other) : 0;
        std::copy(distances + skipped, distances + count, to + placeOf(row, other + skipped));
      }
    }
  });
}

/// to = to + slope(a − b)
template <class T, class S, class C>
OPENREG_MULTIVERSION static void addSlopes(S slope, const C* a, const C* b, int64_t columns, C* to) {
  for (int64_t i = 0; i < columns; ++i) {
    to[i] += static_cast<C>(slope(T(a[i] - b[i]))); // rounded as the distance was
  }
}

} // namespace openreg::kernels
