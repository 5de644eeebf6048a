// Rows of numbers with a weight for each column, and the sums of many rows: further loops of the kernels that
// normalise.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/loop/ivdep.h"
#include "kernels/loop/multiversion.h"
#include "kernels/normalization/row_sums.h"

namespace openreg::kernels {

/// What normalizeRow() does with some of the parameters.
template <bool hasWeight, bool hasBias, class C>
OPENREG_MULTIVERSION static void
normalizeRowWith(C* out, const C* x, C mean, C scale, const C* weight, const C* bias, int64_t count) {
  OPENREG_IVDEP // `out` is apart from the others.
  for (int64_t i = 0; i < count; ++i) {
    C value = (x[i] - mean) * scale;
    if constexpr (hasWeight) {
      value *= weight[i];
    }
    if constexpr (hasBias) {
      value += bias[i];
    }
    out[i] = value;
  }
}

/// out = (x − mean) · scale · weight + bias. Weight and bias may be null: 1 and 0.
template <class C>
void normalizeRow(C* out, const C* x, C mean, C scale, const C* weight, const C* bias, int64_t count) {
  if (weight == nullptr) {
    return bias == nullptr ? normalizeRowWith<false, false>(out, x, mean, scale, weight, bias, count)
                           : normalizeRowWith<false, true>(out, x, mean, scale, weight, bias, count);
  }
  return bias == nullptr ? normalizeRowWith<true, false>(out, x, mean, scale, weight, bias, count)
                         : normalizeRowWith<true, true>(out, x, mean, scale, weight, bias, count);
}

/// out = x · scale · weight
template <class C>
OPENREG_MULTIVERSION static void scaleAndWeigh(C* out, const C* x, C scale, const C* weight, int64_t count) {
  OPENREG_IVDEP // `out` may be `x`, but element by element that is no dependency.
  for (int64_t i = 0; i < count; ++i) {
    out[i] = x[i] * scale * weight[i];
  }
}

/// out = out + x
template <class C>
OPENREG_MULTIVERSION static void addToRow(C* out, const C* x, int64_t count) {
  OPENREG_IVDEP // Each element depends on its own only.
  for (int64_t i = 0; i < count; ++i) {
    out[i] += x[i];
  }
}

/// out = out + x · scale
template <class C>
OPENREG_MULTIVERSION static void addScaledRow(C* out, const C* x, C scale, int64_t count) {
  OPENREG_IVDEP
  for (int64_t i = 0; i < count; ++i) {
    out[i] += x[i] * scale;
  }
}

/// Room for a row times the weights.
template <class C>
class WeightedRow {
 public:
  /// row · weight, or the row itself if `weight` is null.
  const C* of(const C* row, const C* weight, int64_t count) {
    if (weight == nullptr) {
      return row;
    }
    elements_.resize(std::max(elements_.size(), static_cast<size_t>(count)));
    multiplyRows(elements_.data(), row, weight, count);
    return elements_.data();
  }

 private:
  std::vector<C> elements_;
};

/// sums = 0
template <class A>
void clearSums(A* sums, int64_t count) {
  std::fill_n(sums, count, A(0));
}

/// sums = sums + grad · (x − mean) · rstd
template <class C, class A>
OPENREG_MULTIVERSION static void addProducts(A* sums, const C* grad, const C* x, C mean, C rstd, int64_t count) {
  OPENREG_IVDEP // The sums are the kernel's own.
  for (int64_t i = 0; i < count; ++i) {
    sums[i] += A(grad[i] * ((x[i] - mean) * rstd));
  }
}

/// The same, and biases = biases + grad
template <class C, class A>
OPENREG_MULTIVERSION static void
addProductsAndRow(A* sums, A* biases, const C* grad, const C* x, C mean, C rstd, int64_t count) {
  OPENREG_IVDEP
  for (int64_t i = 0; i < count; ++i) {
    sums[i] += A(grad[i] * ((x[i] - mean) * rstd));
    biases[i] += A(grad[i]);
  }
}

} // namespace openreg::kernels
