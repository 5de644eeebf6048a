// Elementwise kernels: signs, absolute values, and what is not an ordinary number.
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/loop/convert.h"
#include "kernels/loop/functors.h"
#include "kernels/math/complex_math.h"

namespace openreg::kernels {

namespace {

template <class C>
auto absolute(C x) {
  if constexpr (std::is_integral_v<C>) {
    return x < C(0) ? -x : x;
  } else {
    return std::abs(x);
  }
}

template <class C>
C sign(C x) {
  if constexpr (kIsComplex<C>) {
    return x == C(0) ? C(0) : x / std::abs(x);
  } else {
    return static_cast<C>((C(0) < x) - (x < C(0))); // NaN has none
  }
}

template <class C>
auto angle(C x) {
  if constexpr (kIsComplex<C>) {
    return std::arg(x);
  } else {
    return x < C(0) ? std::numbers::pi_v<C> : (x == x ? C(0) : x);
  }
}

template <class C>
constexpr C kInfinity = std::numeric_limits<C>::infinity();

const Unary<"abs", [](auto x) { return absolute(x); }, Numbers> kAbs;
const Unary<"sign", [](auto x) { return sign(x); }, RealNumbersAndBool> kSign;
const Unary<"sgn", [](auto x) { return sign(x); }, Types<Complex<float>, Complex<double>>> kSgn;
const Unary<"signbit", [](auto x) { return std::signbit(x); }, Floats> kSignbit;
const Unary<"signbit", [](auto x) { return x < decltype(x)(0); }, Integers> kIntegerSignbit;
const Unary<"angle", [](auto x) { return angle(x); }, FloatsAndComplex> kAngle;
const Unary<"conj_physical", [](auto x) { return math::conjugate(x); }, NumbersAndBool> kConjugate;
const Unary<"isposinf", [](auto x) { return x == kInfinity<decltype(x)>; }, Floats> kIsPositiveInfinity;
const Unary<"isneginf", [](auto x) { return x == -kInfinity<decltype(x)>; }, Floats> kIsNegativeInfinity;

/// A number, or what shall stand for it.
template <class C>
struct NanToNum {
  C nan, positive, negative;
  C operator()(C x) const {
    if constexpr (kIsComplex<C>) {
      using Part = C::value_type;
      const NanToNum<Part> part{nan.real(), positive.real(), negative.real()};
      return C(part(x.real()), part(x.imag()));
    } else {
      return x != x ? nan : (x == kInfinity<C> ? positive : (x == -kInfinity<C> ? negative : x));
    }
  }
};
const ElementwiseOf<"nan_to_num", NanToNum, FloatsAndComplex> kNanToNum;

} // namespace

} // namespace openreg::kernels
