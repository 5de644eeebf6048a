// Elementwise kernels: trigonometric and hyperbolic functions.
#include <cmath>

#include "kernels/loop/functors.h"
#include "kernels/math/vector_math.h"

namespace openreg::kernels {

namespace {

const Unary<[](auto x) { return std::sin(x); }, FloatsAndComplex> kSin("sin");
const Unary<[](auto x) { return std::cos(x); }, FloatsAndComplex> kCos("cos");
const Unary<[](auto x) { return std::tan(x); }, FloatsAndComplex> kTan("tan");
const Unary<[](auto x) { return std::asin(x); }, FloatsAndComplex> kAsin("asin");
const Unary<[](auto x) { return std::acos(x); }, FloatsAndComplex> kAcos("acos");
const Unary<[](auto x) { return std::atan(x); }, FloatsAndComplex> kAtan("atan");
const Unary<[](auto x) { return std::sinh(x); }, FloatsAndComplex> kSinh("sinh");
const Unary<[](auto x) { return std::cosh(x); }, FloatsAndComplex> kCosh("cosh");
const Unary<[](auto x) { return std::tanh(x); }, FloatsAndComplex> kTanh("tanh");
const Unary<[](auto x) { return std::asinh(x); }, FloatsAndComplex> kAsinh("asinh");
const Unary<[](auto x) { return std::acosh(x); }, FloatsAndComplex> kAcosh("acosh");
const Unary<[](auto x) { return std::atanh(x); }, FloatsAndComplex> kAtanh("atanh");

} // namespace

} // namespace openreg::kernels
