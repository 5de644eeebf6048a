// Elementwise kernels: trigonometric and hyperbolic functions.
#include <cmath>

#include "kernels/loop/functors.h"
#include "kernels/math/vector_math.h"

namespace openreg::kernels {

namespace {

const Unary<"sin", [](auto x) { return std::sin(x); }, FloatsAndComplex> kSin;
const Unary<"cos", [](auto x) { return std::cos(x); }, FloatsAndComplex> kCos;
const Unary<"tan", [](auto x) { return std::tan(x); }, FloatsAndComplex> kTan;
const Unary<"asin", [](auto x) { return std::asin(x); }, FloatsAndComplex> kAsin;
const Unary<"acos", [](auto x) { return std::acos(x); }, FloatsAndComplex> kAcos;
const Unary<"atan", [](auto x) { return std::atan(x); }, FloatsAndComplex> kAtan;
const Unary<"sinh", [](auto x) { return std::sinh(x); }, FloatsAndComplex> kSinh;
const Unary<"cosh", [](auto x) { return std::cosh(x); }, FloatsAndComplex> kCosh;
const Unary<"tanh", [](auto x) { return std::tanh(x); }, FloatsAndComplex> kTanh;
const Unary<"asinh", [](auto x) { return std::asinh(x); }, FloatsAndComplex> kAsinh;
const Unary<"acosh", [](auto x) { return std::acosh(x); }, FloatsAndComplex> kAcosh;
const Unary<"atanh", [](auto x) { return std::atanh(x); }, FloatsAndComplex> kAtanh;

} // namespace

} // namespace openreg::kernels
