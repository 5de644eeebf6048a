// Distances of a row from others, and what differences add to a gradient, on a GPU: a thread has a pair of rows, or a
// column.
#pragma once

#include "kernels/linalg/distance_norms.h"
#include "kernels/linalg/distance_rows.h"
#include "kernels/loop/row.h"

namespace openreg::kernels {

/// Writes the distances of each row of a run from all others.
/// @param after Whether the others are those of the same matrix that come after the row.
/// @param placeOf `placeOf(row, other)` is where a distance goes.
template <class C, class Place>
void findDistances(const DistanceArgs& args, const RowRun& run, bool after, C* to, Place placeOf) {
  const C* rows = static_cast<const C*>(args.first) + run.batch * args.rows * args.columns;
  const C* others = after ? rows : static_cast<const C*>(args.second) + run.batch * args.others * args.columns;
  for (int64_t row = run.begin; row < run.end; ++row) {
    const int64_t first = after ? row + 1 : 0;
    const C* a = rows + row * args.columns;
    withNorm(args.p, [&](auto norm) {
      forEachOfRow(args.others - first, [&](int64_t i) {
        const C* b = others + (first + i) * args.columns;
        double sum = 0;
        for (int64_t column = 0; column < args.columns; ++column) {
          sum = norm.join(sum, norm.term(std::abs(double(a[column]) - double(b[column]))));
        }
        to[placeOf(row, first + i)] = static_cast<C>(norm.finish(sum));
      });
    });
  }
}

/// to = to + slope(a − b)
template <class T, class S, class C>
void addSlopes(S slope, const C* a, const C* b, int64_t columns, C* to) {
  forEachOfRow(columns, [&](int64_t i) { to[i] += static_cast<C>(slope(T(a[i] - b[i]))); });
}

} // namespace openreg::kernels
