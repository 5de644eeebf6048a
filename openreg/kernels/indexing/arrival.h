// What comes of an element and one that arrives where it is.
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/indexing/indexing.h"
#include "kernels/loop/convert.h"

namespace openreg::kernels {

template <class C>
bool isNan(C value) {
  if constexpr (std::is_floating_point_v<C>) {
    return std::isnan(value);
  } else {
    return false;
  }
}

template <Arrival arrival, class C>
C arrive(C there, C comes) {
  if constexpr (arrival == Arrival::Add) {
    return there + comes;
  } else if constexpr (arrival == Arrival::Multiply) {
    return there * comes;
  } else if constexpr (arrival == Arrival::Maximum) {
    return isNan(comes) || there < comes ? comes : there; // A NaN stays: nothing is larger.
  } else {
    return isNan(comes) || comes < there ? comes : there;
  }
}

template <class T>
struct ComputeIn {
  using Type = int64_t;
};
template <class T>
  requires std::is_floating_point_v<T> || kIsComplex<T> || std::is_same_v<T, bool> || std::is_same_v<T, uint64_t>
struct ComputeIn<T> {
  using Type = T;
};
template <class T>
  requires std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>
struct ComputeIn<T> {
  using Type = float;
};
template <>
struct ComputeIn<ComplexHalf> {
  using Type = Complex<float>;
};

/// The same in the type that elements of type T are computed in.
template <class T, Arrival arrival>
T combined(T there, T comes) {
  using C = ComputeIn<T>::Type;
  return convert<T>(arrive<arrival>(convert<C>(there), convert<C>(comes)));
}

template <class T>
constexpr bool kHasOrder = !kIsComplex<T> && !std::is_same_v<T, ComplexHalf>;

} // namespace openreg::kernels
