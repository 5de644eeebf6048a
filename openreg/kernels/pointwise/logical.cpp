// Elementwise kernels: logic. Operands of any type are loaded as bool, and true is what is not 0.
#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

const Binary<[](auto a, auto b) { return a && b; }, Types<bool>> kAnd("logical_and");
const Binary<[](auto a, auto b) { return a || b; }, Types<bool>> kOr("logical_or");
const Binary<[](auto a, auto b) { return a != b; }, Types<bool>> kXor("logical_xor");
const Unary<[](auto x) { return !x; }, Types<bool>> kNot("logical_not");

} // namespace

} // namespace openreg::kernels
