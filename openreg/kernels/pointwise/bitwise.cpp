// Elementwise kernels: bits of integers.
#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

// Narrow integers come as int64 with their sign, so a shift by more bits than they have gives what it gives for them.
constexpr auto kLeft = []<class C>(C a, C b) {
  return b < C(64) && b >= C(0) ? static_cast<C>(static_cast<uint64_t>(a) << b) : C(0);
};
constexpr auto kRight = []<class C>(C a, C b) {
  if constexpr (C(-1) < C(0)) {
    return a >> (b < 0 || b > 63 ? 63 : b);
  } else {
    return b < 64 ? a >> b : C(0);
  }
};

const Binary<[](auto a, auto b) { return a & b; }, Integers> kAnd("bitwise_and");
const Binary<[](auto a, auto b) { return a | b; }, Integers> kOr("bitwise_or");
const Binary<[](auto a, auto b) { return a ^ b; }, Integers> kXor("bitwise_xor");
const Unary<[](auto x) { return ~x; }, Integers> kNot("bitwise_not");
const Binary<[](bool a, bool b) { return a && b; }, Types<bool>> kBoolAnd("bitwise_and");
const Binary<[](bool a, bool b) { return a || b; }, Types<bool>> kBoolOr("bitwise_or");
const Binary<[](bool a, bool b) { return a != b; }, Types<bool>> kBoolXor("bitwise_xor");
const Unary<[](bool x) { return !x; }, Types<bool>> kBoolNot("bitwise_not");
const Binary<kLeft, Integers> kShiftLeft("bitwise_left_shift");
const Binary<kRight, Integers> kShiftRight("bitwise_right_shift");

} // namespace

} // namespace openreg::kernels
