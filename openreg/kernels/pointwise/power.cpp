// Elementwise kernels: powers.
#include <cmath>

#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

template <class C>
C power(C base, C exponent) {
  if constexpr (std::is_integral_v<C>) {
    if (exponent < C(0)) {
      return base == C(1) ? C(1) : (base == C(-1) ? (exponent % 2 != 0 ? C(-1) : C(1)) : C(0));
    }
    C result = 1;
    for (; exponent != 0; exponent /= 2, base *= base) {
      result *= exponent % 2 != 0 ? base : C(1);
    }
    return result;
  } else {
    return std::pow(base, exponent);
  }
}

const Binary<"pow", [](auto a, auto b) { return power(a, b); }, Numbers> kPower;
const Unary<"square", [](auto x) { return x * x; }, Numbers> kSquare;
const Unary<"cube", [](auto x) { return x * x * x; }, Numbers> kCube;

template <class C>
struct PowerOf {
  C exponent;
  C operator()(C base) const { return power(base, exponent); }
};
const ElementwiseOf<"pow_scalar", PowerOf, Numbers> kPowerOf;

} // namespace

} // namespace openreg::kernels
