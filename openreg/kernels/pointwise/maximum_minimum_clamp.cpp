// Elementwise kernels: the larger and the smaller of two numbers, and limits.
#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

// `x != x` is a NaN's mark. It comes through all of these, but for fmax and fmin, which prefer a number.
constexpr auto kMax = [](auto a, auto b) { return a != a || a > b ? a : b; };
constexpr auto kMin = [](auto a, auto b) { return a != a || a < b ? a : b; };

const Binary<kMax, RealNumbersAndBool> kMaximum("maximum");
const Binary<kMin, RealNumbersAndBool> kMinimum("minimum");
// Of two equal numbers, which zeros of either sign are, these two take the first, as on the CPU.
const Binary<[](auto a, auto b) { return b != b || b <= a ? a : b; }, RealNumbersAndBool> kFmax("fmax");
const Binary<[](auto a, auto b) { return b != b || a <= b ? a : b; }, RealNumbersAndBool> kFmin("fmin");

/// Limits of each element's own.
template <class C>
struct ClampTensor {
  C operator()(C x, C low, C high) const { return x != x ? x : kMin(kMax(x, low), high); }
};
const ElementwiseOf<ClampTensor, RealNumbers> kClampTensor("clamp_tensor");

template <class C>
struct Clamp {
  C low, high;
  C operator()(C x) const {
    const C raised = x < low ? low : x;
    return high < raised ? high : raised;
  }
};
const ElementwiseOf<Clamp, RealNumbers> kClamp("clamp");

template <class C>
struct ClampMax {
  C high;
  C operator()(C x) const { return high < x ? high : x; }
};
const ElementwiseOf<ClampMax, RealNumbers> kClampMax("clamp_max");

} // namespace

} // namespace openreg::kernels
