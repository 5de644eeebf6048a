// Sums over rows of numbers, and rows made of rows, on a GPU: all threads of a block do them together. A row is an
// array or whatever else has elements by number.
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/loop/row.h"

namespace openreg::kernels {

/// The sum of `term(i)` for each i < count.
template <class S, class Term>
S sumQuickly(int64_t count, Term term) {
  struct Terms {
    Term term;
    auto operator[](int64_t i) const { return term(i); }
  };
  return reduceRow(SumIn<S>(), count, Terms{term});
}

/// Σ x
template <class R>
auto sumOf(const R& x, int64_t count) {
  using S = Accumulator<ElementOf<R>>;
  return sumQuickly<S>(count, [&](int64_t i) { return S(x[i]); });
}

/// Σ (x − mean)²
template <class R>
auto squaresOf(const R& x, ElementOf<R> mean, int64_t count) {
  using S = Accumulator<ElementOf<R>>;
  return sumQuickly<S>(count, [&](int64_t i) { return (S(x[i]) - S(mean)) * (S(x[i]) - S(mean)); });
}

/// Σ (x − mean) · y
template <class R, class Y>
auto productsOf(const R& x, ElementOf<R> mean, const Y& y, int64_t count) {
  using S = Accumulator<ElementOf<R>>;
  return sumQuickly<S>(count, [&](int64_t i) { return (S(x[i]) - S(mean)) * S(y[i]); });
}

/// out = (x − mean) · scale + shift
template <class R, class X, class C>
void scaleRow(const R& out, const X& x, C mean, C scale, C shift, int64_t count) {
  const bool isFinite = std::isfinite(scale);
  const C rest = shift - mean * scale;
  forEachOfRow(count, [&](int64_t i) { put(out, i, isFinite ? (x[i] - mean) * scale + shift : x[i] * scale + rest); });
}

/// out = x · a + (y − mean) · b + c
template <class R, class X, class Y, class C>
void combineRows(const R& out, const X& x, C a, const Y& y, C mean, C b, C c, int64_t count) {
  forEachOfRow(count, [&](int64_t i) { put(out, i, x[i] * a + (y[i] - mean) * b + c); });
}

/// out = (x + (y − mean) · b + c) · a
template <class R, class X, class Y, class C>
void combineAndScale(const R& out, const X& x, C a, const Y& y, C mean, C b, C c, int64_t count) {
  forEachOfRow(count, [&](int64_t i) { put(out, i, (x[i] + (y[i] - mean) * b + c) * a); });
}

/// out = x · a
template <class R, class X, class C>
void multiplyRow(const R& out, const X& x, C a, int64_t count) {
  forEachOfRow(count, [&](int64_t i) { put(out, i, x[i] * a); });
}

/// out = x · y
template <class R, class X, class Y>
void multiplyRows(const R& out, const X& x, const Y& y, int64_t count) {
  forEachOfRow(count, [&](int64_t i) { put(out, i, x[i] * y[i]); });
}

} // namespace openreg::kernels
