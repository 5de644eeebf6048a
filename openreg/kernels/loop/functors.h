// Elementwise kernels out of lambdas: one line an operator.
#pragma once

#include "kernels/loop/elementwise.h"

namespace openreg::kernels {

/// A list of compute types.
template <class... C>
struct Types {};

using Integers = Types<int64_t, uint64_t>;
using IntegersAndBool = Types<bool, int64_t, uint64_t>;
using Floats = Types<float, double>;
using FloatsAndComplex = Types<float, double, Complex<float>, Complex<double>>;
using RealNumbers = Types<int64_t, uint64_t, float, double>;
using RealNumbersAndBool = Types<bool, int64_t, uint64_t, float, double>;
using Numbers = Types<int64_t, uint64_t, float, double, Complex<float>, Complex<double>>;
using NumbersAndBool = Types<bool, int64_t, uint64_t, float, double, Complex<float>, Complex<double>>;

/// A generic lambda of one or two elements of the compute type as functors without parameters.
template <auto f>
struct Lambda {
  template <class C>
  struct Unary {
    auto operator()(C x) const { return f(x); }
  };
  template <class C>
  struct Binary {
    auto operator()(C a, C b) const { return f(a, b); }
  };
};

/// Elementwise for a list of types.
template <Name name, template <class> class F, class List>
class ElementwiseOf;
template <Name name, template <class> class F, class... C>
class ElementwiseOf<name, F, Types<C...>> : public Elementwise<name, F, C...> {};

// LITERALINCLUDE START: LAMBDA KERNELS
/// A static object of this type makes kernels of a lambda of one element:
///
///     const Unary<"sin", [](auto x) { return std::sin(x); }, FloatsAndComplex> kSin;
template <Name name, auto f, class List>
class Unary : public ElementwiseOf<name, Lambda<f>::template Unary, List> {};

/// The same of two elements.
template <Name name, auto f, class List>
class Binary : public ElementwiseOf<name, Lambda<f>::template Binary, List> {};
// LITERALINCLUDE END: LAMBDA KERNELS

} // namespace openreg::kernels
