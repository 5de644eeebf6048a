// Elementwise kernels: further functions of two numbers.
#include <cmath>
#include <limits>

#include "kernels/loop/functors.h"
#include "kernels/math/complex_math.h"
#include "kernels/math/vector_math.h"

namespace openreg::kernels {

namespace {

/// x * log(y), or x * log1p(y): 0 where x is, whatever its logarithm.
template <class C, class Log>
C timesLog(C x, C y, Log log) {
  return y != y ? y : (x == C(0) ? C(0) : x * log(y));
}

template <class C>
C greatestCommonDivisor(C a, C b) {
  const auto absolute = [](C x) { return x < C(0) ? C(0) - x : x; };
  for (a = absolute(a), b = absolute(b); a != C(0);) {
    const C rest = b % a;
    b = a;
    a = rest;
  }
  return b;
}

template <class C>
C leastCommonMultiple(C a, C b) {
  const C divisor = greatestCommonDivisor(a, b);
  const C multiple = divisor == C(0) ? C(0) : a / divisor * b;
  return multiple < C(0) ? C(0) - multiple : multiple;
}

/// log2(2^a + 2^b)
template <class C>
C logAddExp2(C a, C b) {
  const C larger = a > b ? a : b;
  constexpr C kLog2E = C(1.44269504088896340736);
  return a == b && std::isinf(a) ? a : larger + std::log1p(std::exp2(-std::fabs(a - b))) * kLog2E;
}

const Binary<"atan2", [](auto a, auto b) { return std::atan2(a, b); }, Floats> kAtan2;
const Binary<"hypot", [](auto a, auto b) { return std::hypot(a, b); }, Floats> kHypot;
const Binary<"copysign", [](auto a, auto b) { return std::copysign(a, b); }, Floats> kCopysign;
const Binary<"logaddexp", [](auto a, auto b) { return math::logAddExp(a, b); }, FloatsAndComplex> kLogAddExp;
const Binary<"logaddexp2", [](auto a, auto b) { return logAddExp2(a, b); }, Floats> kLogAddExp2;
const Binary<"xlogy", [](auto x, auto y) { return timesLog(x, y, [](auto v) { return std::log(v); }); }, Floats> kXLogY;
const Binary<
    "special_xlog1py",
    [](auto x, auto y) { return timesLog(x, y, [](auto v) { return std::log1p(v); }); },
    Floats>
    kXLog1pY;
const Binary<
    "heaviside",
    []<class C>(C x, C values) { return x == C(0) ? values : static_cast<C>(x > C(0)); },
    RealNumbersAndBool>
    kHeaviside;
const Binary<"gcd", [](auto a, auto b) { return greatestCommonDivisor(a, b); }, Types<int64_t>> kGcd;
const Binary<"lcm", [](auto a, auto b) { return leastCommonMultiple(a, b); }, Types<int64_t>> kLcm;

} // namespace

} // namespace openreg::kernels
