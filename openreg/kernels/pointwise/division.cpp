// Elementwise kernels: division with a whole quotient, and what remains.
#include <cmath>

#include "kernels/loop/functors.h"
#include "kernels/pointwise/checked_kernel.h"

namespace openreg::kernels {

namespace {

/// Quotient, cut off. INT64_MIN / -1 does not fit into its type, and the processor would end the process for it.
template <class C>
C divide(C a, C b) {
  if constexpr (std::is_signed_v<C>) {
    return b == C(-1) ? C(0) - a : a / b;
  } else {
    return a / b;
  }
}

/// What remains, with the sign of `a`.
struct Rest {
  template <class C>
  C operator()(C a, C b) const {
    if constexpr (std::is_floating_point_v<C>) {
      return std::fmod(a, b);
    } else {
      return a - divide(a, b) * b;
    }
  }
};

// LITERALINCLUDE START: REST IN DOUBLE
/// The same of floats whose quotient is below 2^28, in double. Their mantissas have 24 bits, so the quotient is a whole
/// number or differs from the next by more than 2^-52 of it, which division never rounds away: trunc is exact. So is
/// its product with b, of 28 + 24 bits, and what is left, which is a float.
struct RestInDouble {
  float operator()(float a, float b) const {
    const double whole = std::trunc(static_cast<double>(a) / static_cast<double>(b));
    const auto left = static_cast<float>(static_cast<double>(a) - whole * static_cast<double>(b));
    return whole == 0.0 ? a : std::copysign(left, a); // 0 times an infinite b is no number
  }
  static bool fits(float a, float b) { return std::fabs(a) < std::fabs(b) * 0x1p28F; }
};
// LITERALINCLUDE END: REST IN DOUBLE

/// Whether what is left, of the sign of a, has to be made up to the sign of b.
template <class C>
bool isOpposite(C left, C b) {
  return (left != C(0)) & ((left < C(0)) != (b < C(0)));
}

/// What remains, with the sign of `b`.
template <class C>
C remainder(C left, C b) {
  return isOpposite(left, b) ? left + b : left;
}

/// As Python's //: floor(a / b) may be one too many, as a / b may have been rounded up to a whole number.
template <class C>
C floorDivide(C a, C b, C left) {
  if constexpr (std::is_integral_v<C>) {
    return divide(a, b) - C(left != 0 && (a < C(0)) != (b < C(0)));
  } else {
    const C quotient = (a - left) / b - (isOpposite(left, b) ? C(1) : C(0));
    const C floor = std::floor(quotient);
    const C whole = quotient - floor > C(0.5) ? floor + C(1) : floor;
    return b == C(0) ? a / b : quotient == C(0) ? std::copysign(C(0), a / b) : whole;
  }
}

template <class C>
C truncDivide(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    return divide(a, b);
  } else {
    return std::trunc(a / b);
  }
}

/// A lambda of two elements, and of what tells their rest, as functors.
template <auto f>
struct WithRest {
  template <class C, class R>
  struct Call {
    C operator()(C a, C b) const { return f(a, b, R()); }
  };
  struct OfFloats : Call<float, Rest> {
    using Quick = Call<float, RestInDouble>;
    static bool isQuick(float a, float b) { return RestInDouble::fits(a, b); }
  };
  template <class C>
  using Binary = std::conditional_t<std::is_same_v<C, float>, OfFloats, Call<C, Rest>>;
};

/// Functors as kernels for all real numbers, checked where they are integers.
template <Name name, template <class> class F>
class Division : public ElementwiseOf<name, F, Floats>,
                 public StridedEntry<fullName<name, int64_t>(), &CheckedKernel<F<int64_t>>::run>,
                 public StridedEntry<fullName<name, uint64_t>(), &CheckedKernel<F<uint64_t>>::run> {};

using FloorDivide = WithRest<[](auto a, auto b, auto rest) { return floorDivide(a, b, rest(a, b)); }>;
using TruncDivide = Lambda<[](auto a, auto b) { return truncDivide(a, b); }>;
using Remainder = WithRest<[](auto a, auto b, auto rest) { return remainder(rest(a, b), b); }>;
using Fmod = WithRest<[](auto a, auto b, auto rest) { return rest(a, b); }>;

const Division<"div_floor", FloorDivide::Binary> kFloorDivide;
const Division<"div_trunc", TruncDivide::Binary> kTruncDivide;
const Division<"remainder", Remainder::Binary> kRemainder;
const Division<"fmod", Fmod::Binary> kFmod;

} // namespace

} // namespace openreg::kernels
