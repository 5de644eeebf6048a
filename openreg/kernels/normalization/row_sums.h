// Sums over rows of numbers, and rows made of rows: the loops of the kernels that normalise.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/loop/ivdep.h"
#include "kernels/loop/multiversion.h"
#include "kernels/reduction/reduce.h"

namespace openreg::kernels {

/// Partial sums that are kept side by side: several vectors of them, so that an addition need not wait for the last.
constexpr int kSums = 32;

/// The sum of `term(i)` for each i < count. Short stretches are summed in the terms' own type, which is fast, and these
/// sums in a wider one.
template <class S, class Term>
OPENREG_INLINE inline S sumQuickly(int64_t count, Term term) {
  using C = decltype(term(int64_t{0}));
  S total(0);
  int64_t i = 0;
  while (count - i >= kSums) {
    const int64_t end = std::min(count, i + kBlock);
    C sums[kSums] = {};
    for (; i + kSums <= end; i += kSums) {
      for (int k = 0; k < kSums; ++k) {
        sums[k] += term(i + k);
      }
    }
    for (const C sum : sums) {
      total += S(sum);
    }
  }
  for (; i < count; ++i) {
    total += S(term(i));
  }
  return total;
}

/// The sum of `term(type, i)` for each i < count: of terms in type C, and if those are too large for it, in a wider
/// one.
template <class C, class Term>
OPENREG_INLINE inline Accumulator<C> sumOfTerms(int64_t count, Term term) {
  using S = Accumulator<C>;
  const S total = sumQuickly<S>(count, [=](int64_t i) OPENREG_INLINE { return term(C{}, i); });
  return std::isfinite(total) ? total : sumQuickly<S>(count, [=](int64_t i) OPENREG_INLINE { return term(S{}, i); });
}

/// Σ x
template <class C>
OPENREG_MULTIVERSION static Accumulator<C> sumOf(const C* x, int64_t count) {
  return sumOfTerms<C>(count, [=]<class T>(T, int64_t i) OPENREG_INLINE { return T(x[i]); });
}

/// Σ (x − mean)²
template <class C>
OPENREG_MULTIVERSION static Accumulator<C> squaresOf(const C* x, C mean, int64_t count) {
  return sumOfTerms<C>(
      count, [=]<class T>(T, int64_t i) OPENREG_INLINE { return (T(x[i]) - T(mean)) * (T(x[i]) - T(mean)); });
}

/// Σ (x − mean) · y
template <class C>
OPENREG_MULTIVERSION static Accumulator<C> productsOf(const C* x, C mean, const C* y, int64_t count) {
  return sumOfTerms<C>(count, [=]<class T>(T, int64_t i) OPENREG_INLINE { return (T(x[i]) - T(mean)) * T(y[i]); });
}

/// out = (x − mean) · scale + shift. The mean is subtracted first: far from 0, products would cancel out. With an
/// infinite factor the CPU's form, which multiplies first, has its infinities elsewhere: then as there.
template <class C>
OPENREG_MULTIVERSION static void scaleRow(C* out, const C* x, C mean, C scale, C shift, int64_t count) {
  if (!std::isfinite(scale)) {
    const C rest = shift - mean * scale;
    for (int64_t i = 0; i < count; ++i) {
      out[i] = x[i] * scale + rest;
    }
    return;
  }
  OPENREG_IVDEP // `out` may be `x`, but element by element that is no dependency.
  for (int64_t i = 0; i < count; ++i) {
    out[i] = (x[i] - mean) * scale + shift;
  }
}

/// out = x · a + (y − mean) · b + c
template <class C>
OPENREG_MULTIVERSION static void combineRows(C* out, const C* x, C a, const C* y, C mean, C b, C c, int64_t count) {
  OPENREG_IVDEP
  for (int64_t i = 0; i < count; ++i) {
    out[i] = x[i] * a + (y[i] - mean) * b + c;
  }
}

/// out = (x + (y − mean) · b + c) · a
template <class C>
OPENREG_MULTIVERSION static void combineAndScale(C* out, const C* x, C a, const C* y, C mean, C b, C c, int64_t count) {
  OPENREG_IVDEP
  for (int64_t i = 0; i < count; ++i) {
    out[i] = (x[i] + (y[i] - mean) * b + c) * a;
  }
}

/// out = x · a
template <class C>
OPENREG_MULTIVERSION static void multiplyRow(C* out, const C* x, C a, int64_t count) {
  OPENREG_IVDEP
  for (int64_t i = 0; i < count; ++i) {
    out[i] = x[i] * a;
  }
}

/// out = x · y
template <class C>
OPENREG_MULTIVERSION static void multiplyRows(C* out, const C* x, const C* y, int64_t count) {
  OPENREG_IVDEP
  for (int64_t i = 0; i < count; ++i) {
    out[i] = x[i] * y[i];
  }
}

} // namespace openreg::kernels
