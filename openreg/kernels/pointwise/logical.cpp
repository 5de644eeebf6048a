// Elementwise kernels: logic. Operands of any type are loaded as bool, and true is what is not 0.
#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

const Binary<"logical_and", [](auto a, auto b) { return a && b; }, Types<bool>> kAnd;
const Binary<"logical_or", [](auto a, auto b) { return a || b; }, Types<bool>> kOr;
const Binary<"logical_xor", [](auto a, auto b) { return a != b; }, Types<bool>> kXor;
const Unary<"logical_not", [](auto x) { return !x; }, Types<bool>> kNot;

} // namespace

} // namespace openreg::kernels
