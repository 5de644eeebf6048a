// What a reduction knows of the elements that it has seen.
#pragma once

#include <tuple>
#include <utility>

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// What floating point is summed in: wide enough that the order of summation hardly matters.
template <class C>
struct AccumulatorOf {
  using Type = C;
};
template <>
struct AccumulatorOf<float> {
  using Type = double;
};
template <>
struct AccumulatorOf<Complex<float>> {
  using Type = Complex<double>;
};
template <>
struct AccumulatorOf<bool> {
  using Type = int64_t;
};
template <class C>
using Accumulator = AccumulatorOf<C>::Type;

/// What a reduction knows after some of its elements.
template <class F>
using StateOf = decltype(std::declval<const F>().start());

/// How many values a reduction gives: one, or a tuple of several.
template <class Result>
constexpr int kOutputsOf = 1;
template <class... T>
inline constexpr int kOutputsOf<std::tuple<T...>> = sizeof...(T);

} // namespace openreg::kernels
