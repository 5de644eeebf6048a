// Elementwise kernels: gradients of activation functions.
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/loop/convert.h"
#include "kernels/loop/functors.h"
#include "kernels/math/complex_math.h"
#include "kernels/math/vector_math.h"

namespace openreg::kernels {

namespace {

template <class C>
C geluGradient(C grad, C x) {
  const C share = C(0.5) * (C(1) + std::erf(x * (std::numbers::sqrt2_v<C> / 2)));
  const C density = std::exp(C(-0.5) * x * x) * (std::numbers::inv_sqrtpi_v<C> * std::numbers::sqrt2_v<C> / 2);
  return grad * (share + x * density);
}

template <class C>
C geluTanhGradient(C grad, C x) {
  constexpr C kRoot = std::numbers::sqrt2_v<C> * std::numbers::inv_sqrtpi_v<C>; // of 2 / pi
  constexpr C kCubic = C(0.044715);
  const C t = std::tanh(kRoot * (x + kCubic * x * x * x));
  const C inner = kRoot * (C(1) + C(3) * kCubic * x * x);
  return grad * C(0.5) * (C(1) + t + x * (C(1) - t * t) * inner);
}

template <class C>
C siluGradient(C grad, C x) {
  const C s = math::sigmoid(x);
  return grad * math::conjugate(s * (C(1) + x * (C(1) - s)));
}

template <class C>
C mishGradient(C grad, C x) {
  const C s = math::sigmoid(x);
  const C t = std::tanh(std::log1p(std::exp(x)));
  return grad * (t + x * s * (C(1) - t * t));
}

const Binary<
    "sigmoid_backward",
    []<class C>(C grad, C y) { return grad * math::conjugate(C(1) - y) * math::conjugate(y); }, // y² may be too large
    FloatsAndComplex>
    kSigmoid;
const Binary<
    "tanh_backward",
    [](auto grad, auto y) { return grad * math::conjugate(decltype(y)(1) - y * y); },
    FloatsAndComplex>
    kTanh;
const Binary<"gelu_backward", [](auto grad, auto x) { return geluGradient(grad, x); }, Floats> kGelu;
const Binary<"gelu_tanh_backward", [](auto grad, auto x) { return geluTanhGradient(grad, x); }, Floats> kGeluTanh;
const Binary<"silu_backward", [](auto grad, auto x) { return siluGradient(grad, x); }, FloatsAndComplex> kSilu;
const Binary<"mish_backward", [](auto grad, auto x) { return mishGradient(grad, x); }, Floats> kMish;
const Binary<
    "hardsigmoid_backward",
    []<class C>(C grad, C x) { return C(-3) < x && x < C(3) ? grad / C(6) : C(0); },
    Floats>
    kHardsigmoid;
const Binary<
    "hardswish_backward",
    []<class C>(C grad, C x) { return x <= C(-3) ? C(0) : (x >= C(3) ? grad : grad * (x / C(3) + C(0.5))); },
    Floats>
    kHardswish;
const Binary<"log_sigmoid_backward", [](auto grad, auto x) { return grad * math::sigmoid(-x); }, Floats> kLogSigmoid;

template <class C>
struct PreluGradient {
  C operator()(C x, C weight, C grad) const { return x > C(0) ? grad : weight * grad; }
};
const ElementwiseOf<"prelu_backward", PreluGradient, Floats> kPrelu;
const Binary<"prelu_weight_backward", []<class C>(C x, C grad) { return C(0) < x ? C(0) : x * grad; }, Floats>
    kPreluWeight;

/// Of the second half of glu's input. The first half's is grad * sigmoid(second): "glu".
template <class C>
struct GluGradient {
  C operator()(C grad, C a, C b) const {
    const C s = math::sigmoid(b);
    return (C(1) - s) * s * a * grad; // small numbers first: a product of two large ones is none
  }
};
const ElementwiseOf<"glu_backward", GluGradient, FloatsAndComplex> kGlu;

template <class C>
struct EluGradient {
  C alpha, scale, inputScale;
  C isResult; // not 0: x is elu's result
  C operator()(C grad, C x) const {
    const C negative = isResult != C(0) ? x + alpha * scale : alpha * scale * std::exp(x * inputScale);
    return x > C(0) ? grad * scale : grad * inputScale * negative; // of a NaN, too
  }
};
const ElementwiseOf<"elu_backward", EluGradient, Floats> kElu;

template <class C>
struct LeakyReluGradient {
  C slope;
  C operator()(C x, C grad) const { return x > C(0) ? grad : grad * slope; }
};
const ElementwiseOf<"leaky_relu_backward", LeakyReluGradient, Floats> kLeakyRelu;

template <class C>
struct HardtanhGradient {
  C low, high;
  C operator()(C grad, C x) const { return x <= low || x >= high ? C(0) : grad; }
};
const ElementwiseOf<"hardtanh_backward", HardtanhGradient, Floats> kHardtanh;

template <class C>
struct SoftplusGradient {
  C beta, threshold;
  C operator()(C grad, C x) const { return x * beta > threshold ? grad : grad * math::sigmoid(x * beta); }
};
const ElementwiseOf<"softplus_backward", SoftplusGradient, Floats> kSoftplus;

template <class C>
struct ShrinkGradient {
  C lambda;
  C operator()(C grad, C x) const { return x >= -lambda && x <= lambda ? C(0) : grad; }
};
const ElementwiseOf<"shrink_backward", ShrinkGradient, Floats> kShrink;

template <class C>
struct LogitGradient {
  C eps; // negative: none
  C operator()(C grad, C x) const {
    const C low = eps < C(0) ? C(0) : eps;
    const C outside = eps < C(0) ? std::numeric_limits<C>::quiet_NaN() : C(0);
    const C inside = grad / (x * (C(1) - x));
    return x < low || x > C(1) - low ? outside
                                     : (x == C(0) || x == C(1) ? grad * std::numeric_limits<C>::infinity() : inside);
  }
};
const ElementwiseOf<"logit_backward", LogitGradient, Floats> kLogit;

} // namespace

} // namespace openreg::kernels
