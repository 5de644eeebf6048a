// Elementwise kernels: which of two numbers is larger, and whether they differ.
#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

const Binary<[](auto a, auto b) { return a != b; }, NumbersAndBool> kNotEqual("ne");
const Binary<[](auto a, auto b) { return a < b; }, RealNumbersAndBool> kLess("lt");
const Binary<[](auto a, auto b) { return a <= b; }, RealNumbersAndBool> kLessOrEqual("le");
const Binary<[](auto a, auto b) { return b < a; }, RealNumbersAndBool> kGreater("gt");
const Binary<[](auto a, auto b) { return b <= a; }, RealNumbersAndBool> kGreaterOrEqual("ge");

} // namespace

} // namespace openreg::kernels
