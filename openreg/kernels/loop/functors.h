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
template <template <class> class F, class List>
class ElementwiseOf;
template <template <class> class F, class... C>
class ElementwiseOf<F, Types<C...>> : public Elementwise<F, C...> {
 public:
  OPENREG_IN_THIS_FILE explicit ElementwiseOf(const char* name) : Elementwise<F, C...>(name) {}
};

// LITERALINCLUDE START: LAMBDA KERNELS
/// A static object of this type makes kernels of a lambda of one element:
///
///     const Unary<[](auto x) { return std::sin(x); }, FloatsAndComplex> kSin("sin");
template <auto f, class List>
class Unary : public ElementwiseOf<Lambda<f>::template Unary, List> {
 public:
  OPENREG_IN_THIS_FILE explicit Unary(const char* name) : ElementwiseOf<Lambda<f>::template Unary, List>(name) {}
};

/// The same of two elements.
template <auto f, class List>
class Binary : public ElementwiseOf<Lambda<f>::template Binary, List> {
 public:
  OPENREG_IN_THIS_FILE explicit Binary(const char* name) : ElementwiseOf<Lambda<f>::template Binary, List>(name) {}
};
// LITERALINCLUDE END: LAMBDA KERNELS

} // namespace openreg::kernels
