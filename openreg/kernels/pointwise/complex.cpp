// Elementwise kernels: complex numbers out of two real ones.
#include <cmath>

#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

template <class C>
struct Cartesian {
  Complex<C> operator()(C real, C imag) const { return {real, imag}; }
};

template <class C>
struct Polar {
  Complex<C> operator()(C length, C angle) const { return {length * std::cos(angle), length * std::sin(angle)}; }
};

const Elementwise<"complex", Cartesian, float, double> kCartesian;
const Elementwise<"polar", Polar, float, double> kPolar;

} // namespace

} // namespace openreg::kernels
