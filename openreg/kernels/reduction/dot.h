// The sum of the products of two arrays.
#pragma once

#include <cstdint>
#include <numeric>

#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

/// Summed in the numbers' own type; productsOf() sums wider. Parts are summed by themselves, so that the loop becomes
/// vector code. Static, as all functions in versions.
template <class C>
OPENREG_MULTIVERSION static C dot(int64_t count, const C* a, const C* b) {
  constexpr int kParts = 32;
  C parts[kParts] = {};
  int64_t i = 0;
  for (; i + kParts <= count; i += kParts) {
    for (int part = 0; part < kParts; ++part) {
      parts[part] += a[i + part] * b[i + part];
    }
  }
  for (int part = 0; i < count; ++i, ++part) {
    parts[part] += a[i] * b[i];
  }
  return std::accumulate(parts, parts + kParts, C(0));
}

} // namespace openreg::kernels
