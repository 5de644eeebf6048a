// Rows of numbers with a weight for each column, and the sums of many rows, on a GPU.
#pragma once

#include "kernels/normalization/row_sums.h"

namespace openreg::kernels {

/// out = (x − mean) · scale · weight + bias. Weight and bias may be null: 1 and 0.
template <class C>
void normalizeRow(C* out, const C* x, C mean, C scale, const C* weight, const C* bias, int64_t count) {
  forEachOfRow(count, [&](int64_t i) {
    out[i] = (x[i] - mean) * scale * (weight != nullptr ? weight[i] : C(1)) + (bias != nullptr ? bias[i] : C(0));
  });
}

/// out = x · scale · weight
template <class R, class X, class W, class C>
void scaleAndWeigh(const R& out, const X& x, C scale, const W& weight, int64_t count) {
  forEachOfRow(count, [&](int64_t i) { put(out, i, x[i] * scale * weight[i]); });
}

/// out = out + x
template <class R, class X>
void addToRow(const R& out, const X& x, int64_t count) {
  forEachOfRow(count, [&](int64_t i) { put(out, i, out[i] + x[i]); });
}

/// out = out + x · scale
template <class C>
void addScaledRow(C* out, const C* x, C scale, int64_t count) {
  forEachOfRow(count, [&](int64_t i) { out[i] += x[i] * scale; });
}

/// A row times the weights, computed when it is read.
template <class C>
struct WeightedRow {
  template <class R, class W>
  struct Product {
    R row;
    W weight;
    C operator[](int64_t i) const {
      if constexpr (std::is_pointer_v<W>) {
        return weight != nullptr ? row[i] * weight[i] : row[i];
      } else {
        return row[i] * weight[i];
      }
    }
  };

  /// row · weight, or the row itself if `weight` is null.
  template <class R, class W>
  Product<R, W> of(const R& row, const W& weight, int64_t /*count*/) const {
    return {row, weight};
  }
};

/// sums = 0
template <class A>
void clearSums(A* sums, int64_t count) {
  forEachOfRow(count, [&](int64_t i) { sums[i] = A(0); });
}

/// sums = sums + grad · (x − mean) · rstd
template <class A, class R, class X, class C>
void addProducts(A* sums, const R& grad, const X& x, C mean, C rstd, int64_t count) {
  forEachOfRow(count, [&](int64_t i) { sums[i] += A(grad[i] * ((x[i] - mean) * rstd)); });
}

/// The same, and biases = biases + grad
template <class A, class R, class X, class C>
void addProductsAndRow(A* sums, A* biases, const R& grad, const X& x, C mean, C rstd, int64_t count) {
  forEachOfRow(count, [&](int64_t i) {
    sums[i] += A(grad[i] * ((x[i] - mean) * rstd));
    biases[i] += A(grad[i]);
  });
}

} // namespace openreg::kernels
