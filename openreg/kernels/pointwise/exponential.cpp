// Elementwise kernels: exponential functions, logarithms and roots.
#include <cmath>

#include "kernels/loop/functors.h"
#include "kernels/math/complex_math.h"
#include "kernels/math/vector_math.h"

namespace openreg::kernels {

namespace {

const Unary<[](auto x) { return std::exp(x); }, FloatsAndComplex> kExp("exp");
const Unary<[](auto x) { return math::exp2(x); }, FloatsAndComplex> kExp2("exp2");
const Unary<[](auto x) { return math::expm1(x); }, FloatsAndComplex> kExpm1("expm1");
const Unary<[](auto x) { return std::log(x); }, FloatsAndComplex> kLog("log");
const Unary<[](auto x) { return math::log2(x); }, FloatsAndComplex> kLog2("log2");
const Unary<[](auto x) { return std::log10(x); }, FloatsAndComplex> kLog10("log10");
const Unary<[](auto x) { return math::log1p(x); }, FloatsAndComplex> kLog1p("log1p");
const Unary<[](auto x) { return std::sqrt(x); }, FloatsAndComplex> kSqrt("sqrt");
const Unary<[](auto x) { return decltype(x)(1) / std::sqrt(x); }, FloatsAndComplex> kRsqrt("rsqrt");
const Unary<[](auto x) { return decltype(x)(1) / x; }, FloatsAndComplex> kReciprocal("reciprocal");
const Unary<[](auto x) { return math::sigmoid(x); }, FloatsAndComplex> kSigmoid("sigmoid");

} // namespace

} // namespace openreg::kernels
