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

const Binary<"bitwise_and", [](auto a, auto b) { return a & b; }, Integers> kAnd;
const Binary<"bitwise_or", [](auto a, auto b) { return a | b; }, Integers> kOr;
const Binary<"bitwise_xor", [](auto a, auto b) { return a ^ b; }, Integers> kXor;
const Unary<"bitwise_not", [](auto x) { return ~x; }, Integers> kNot;
const Binary<"bitwise_and", [](bool a, bool b) { return a && b; }, Types<bool>> kBoolAnd;
const Binary<"bitwise_or", [](bool a, bool b) { return a || b; }, Types<bool>> kBoolOr;
const Binary<"bitwise_xor", [](bool a, bool b) { return a != b; }, Types<bool>> kBoolXor;
const Unary<"bitwise_not", [](bool x) { return !x; }, Types<bool>> kBoolNot;
const Binary<"bitwise_left_shift", kLeft, Integers> kShiftLeft;
const Binary<"bitwise_right_shift", kRight, Integers> kShiftRight;

} // namespace

} // namespace openreg::kernels
