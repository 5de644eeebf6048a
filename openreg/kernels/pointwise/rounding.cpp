// Elementwise kernels: rounding.
#include <cmath>

#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

const Unary<[](auto x) { return std::ceil(x); }, Floats> kCeil("ceil");
const Unary<[](auto x) { return std::floor(x); }, Floats> kFloor("floor");
const Unary<[](auto x) { return std::trunc(x); }, Floats> kTrunc("trunc");
const Unary<[](auto x) { return std::nearbyint(x); }, Floats> kRound("round"); // ties to even
const Unary<[](auto x) { return x - std::trunc(x); }, Floats> kFrac("frac");

template <class C>
struct RoundDecimals {
  C powerOfTen; // of the absolute number of decimals
  C left;       // not 0: digits to the left of the point
  C operator()(C x) const {
    return left != C(0) ? std::nearbyint(x / powerOfTen) * powerOfTen : std::nearbyint(x * powerOfTen) / powerOfTen;
  }
};
const ElementwiseOf<RoundDecimals, Floats> kRoundDecimals("round_decimals");

} // namespace

} // namespace openreg::kernels
