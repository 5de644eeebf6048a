// Elementwise kernels: exponential functions, logarithms and roots.
#include <cmath>

#include "kernels/loop/functors.h"
#include "kernels/math/complex_math.h"
#include "kernels/math/vector_math.h"

namespace openreg::kernels {

namespace {

const Unary<"exp", [](auto x) { return std::exp(x); }, FloatsAndComplex> kExp;
const Unary<"exp2", [](auto x) { return math::exp2(x); }, FloatsAndComplex> kExp2;
const Unary<"expm1", [](auto x) { return math::expm1(x); }, FloatsAndComplex> kExpm1;
const Unary<"log", [](auto x) { return std::log(x); }, FloatsAndComplex> kLog;
const Unary<"log2", [](auto x) { return math::log2(x); }, FloatsAndComplex> kLog2;
const Unary<"log10", [](auto x) { return std::log10(x); }, FloatsAndComplex> kLog10;
const Unary<"log1p", [](auto x) { return math::log1p(x); }, FloatsAndComplex> kLog1p;
const Unary<"sqrt", [](auto x) { return std::sqrt(x); }, FloatsAndComplex> kSqrt;
const Unary<"rsqrt", [](auto x) { return decltype(x)(1) / std::sqrt(x); }, FloatsAndComplex> kRsqrt;
const Unary<"reciprocal", [](auto x) { return decltype(x)(1) / x; }, FloatsAndComplex> kReciprocal;
const Unary<"sigmoid", [](auto x) { return math::sigmoid(x); }, FloatsAndComplex> kSigmoid;

} // namespace

} // namespace openreg::kernels
