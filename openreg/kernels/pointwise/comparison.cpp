// Elementwise kernels: which of two numbers is larger, and whether they differ.
#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

const Binary<"ne", [](auto a, auto b) { return a != b; }, NumbersAndBool> kNotEqual;
const Binary<"lt", [](auto a, auto b) { return a < b; }, RealNumbersAndBool> kLess;
const Binary<"le", [](auto a, auto b) { return a <= b; }, RealNumbersAndBool> kLessOrEqual;
const Binary<"gt", [](auto a, auto b) { return b < a; }, RealNumbersAndBool> kGreater;
const Binary<"ge", [](auto a, auto b) { return b <= a; }, RealNumbersAndBool> kGreaterOrEqual;

} // namespace

} // namespace openreg::kernels
