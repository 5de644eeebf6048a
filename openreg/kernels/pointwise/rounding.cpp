// Elementwise kernels: rounding.
#include <cmath>

#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

const Unary<"ceil", [](auto x) { return std::ceil(x); }, Floats> kCeil;
const Unary<"floor", [](auto x) { return std::floor(x); }, Floats> kFloor;
const Unary<"trunc", [](auto x) { return std::trunc(x); }, Floats> kTrunc;
const Unary<"round", [](auto x) { return std::nearbyint(x); }, Floats> kRound; // ties to even
const Unary<"frac", [](auto x) { return x - std::trunc(x); }, Floats> kFrac;

template <class C>
struct RoundDecimals {
  C powerOfTen; // of the absolute number of decimals
  C left;       // not 0: digits to the left of the point
  C operator()(C x) const {
    return left != C(0) ? std::nearbyint(x / powerOfTen) * powerOfTen : std::nearbyint(x * powerOfTen) / powerOfTen;
  }
};
const ElementwiseOf<"round_decimals", RoundDecimals, Floats> kRoundDecimals;

} // namespace

} // namespace openreg::kernels
