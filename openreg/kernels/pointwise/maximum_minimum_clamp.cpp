// Elementwise kernels: the larger and the smaller of two numbers, and limits.
#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

// `x != x` is a NaN's mark. It comes through all of these, but for fmax and fmin, which prefer a number.
constexpr auto kMax = [](auto a, auto b) { return a != a || a > b ? a : b; };
constexpr auto kMin = [](auto a, auto b) { return a != a || a < b ? a : b; };

const Binary<"maximum", kMax, RealNumbersAndBool> kMaximum;
const Binary<"minimum", kMin, RealNumbersAndBool> kMinimum;
// Of two equal numbers, which zeros of either sign are, these two take the first, as on the CPU.
const Binary<"fmax", [](auto a, auto b) { return b != b || b <= a ? a : b; }, RealNumbersAndBool> kFmax;
const Binary<"fmin", [](auto a, auto b) { return b != b || a <= b ? a : b; }, RealNumbersAndBool> kFmin;

/// Limits of each element's own.
template <class C>
struct ClampTensor {
  C operator()(C x, C low, C high) const { return x != x ? x : kMin(kMax(x, low), high); }
};
const ElementwiseOf<"clamp_tensor", ClampTensor, RealNumbers> kClampTensor;

template <class C>
struct Clamp {
  C low, high;
  C operator()(C x) const {
    const C raised = x < low ? low : x;
    return high < raised ? high : raised;
  }
};
const ElementwiseOf<"clamp", Clamp, RealNumbers> kClamp;

template <class C>
struct ClampMax {
  C high;
  C operator()(C x) const { return high < x ? high : x; }
};
const ElementwiseOf<"clamp_max", ClampMax, RealNumbers> kClampMax;

} // namespace

} // namespace openreg::kernels
