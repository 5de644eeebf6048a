// Elementwise kernels: activation functions.
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/loop/functors.h"
#include "kernels/math/vector_math.h"

namespace openreg::kernels {

namespace {

/// Phi, the share of a normal distribution below x.
template <class C>
C normalShare(C x) {
  return C(0.5) * (C(1) + std::erf(x * (std::numbers::sqrt2_v<C> / 2)));
}

template <class C>
C tanhShare(C x) {
  constexpr C kRoot = std::numbers::sqrt2_v<C> * std::numbers::inv_sqrtpi_v<C>; // of 2 / pi
  return C(0.5) * (C(1) + std::tanh(kRoot * (x + C(0.044715) * x * x * x)));
}

template <class C>
C logOnePlusExp(C x) {
  return x < C(0) ? std::log1p(std::exp(x)) : x + std::log1p(std::exp(-x));
}

template <class C>
C logSigmoid(C x) {
  return (x < C(0) ? x : C(0)) - std::log1p(std::exp(-std::abs(x)));
}

template <class C>
C sixth(C x) { // x + 3 between 0 and 6, as a share
  const C shifted = x + C(3);
  const C raised = shifted < C(0) ? C(0) : shifted;
  return (raised > C(6) ? C(6) : raised) / C(6);
}

const Unary<"gelu", [](auto x) { return x * normalShare(x); }, Floats> kGelu;
const Unary<"gelu_tanh", [](auto x) { return x * tanhShare(x); }, Floats> kGeluTanh;
const Unary<"silu", [](auto x) { return x / (decltype(x)(1) + std::exp(-x)); }, FloatsAndComplex> kSilu;
const Unary<"mish", [](auto x) { return x * std::tanh(logOnePlusExp(x)); }, Floats> kMish;
const Unary<"hardsigmoid", [](auto x) { return sixth(x); }, Floats> kHardsigmoid;
const Unary<"hardswish", [](auto x) { return x * sixth(x); }, Floats> kHardswish;
const Unary<"log_sigmoid", [](auto x) { return logSigmoid(x); }, Floats> kLogSigmoid;
const Binary<"prelu", [](auto x, auto weight) { return x <= decltype(x)(0) ? weight * x : x; }, Floats> kPrelu;
const Binary<"glu", [](auto a, auto b) { return a * math::sigmoid(b); }, FloatsAndComplex> kGlu;

template <class C>
struct Elu {
  C alpha, scale, inputScale;
  C operator()(C x) const {
    const C y = x * inputScale;
    // e^y − 1; of a tiny number, and a zero of either sign, the number itself.
    const C raised = std::abs(y) < std::numeric_limits<C>::epsilon() ? y : std::exp(y) - C(1);
    return x <= C(0) ? raised * (alpha * scale) : x * scale;
  }
};
const ElementwiseOf<"elu", Elu, Floats> kElu;

template <class C>
struct LeakyRelu {
  C slope;
  C operator()(C x) const { return x > C(0) ? x : x * slope; }
};
const ElementwiseOf<"leaky_relu", LeakyRelu, Floats> kLeakyRelu;

template <class C>
struct Softplus {
  C beta, threshold;
  C operator()(C x) const { return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta; }
};
const ElementwiseOf<"softplus", Softplus, Floats> kSoftplus;

template <class C>
struct Hardshrink {
  C lambda;
  C operator()(C x) const { return x >= -lambda && x <= lambda ? C(0) : x; }
};
const ElementwiseOf<"hardshrink", Hardshrink, Floats> kHardshrink;

template <class C>
struct Softshrink {
  C lambda;
  C operator()(C x) const { return x > lambda ? x - lambda : (x < -lambda ? x + lambda : x * C(0)); }
};
const ElementwiseOf<"softshrink", Softshrink, Floats> kSoftshrink;

/// log(x / (1 - x)), with x kept between eps and 1 - eps unless eps is negative.
template <class C>
struct Logit {
  C eps;
  C operator()(C x) const {
    const C high = C(1) - eps;
    const C kept = eps < C(0) ? x : (x < eps ? eps : (x > high ? high : x));
    return std::log(kept / (C(1) - kept));
  }
};
const ElementwiseOf<"logit", Logit, Floats> kLogit;

} // namespace

} // namespace openreg::kernels
