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
    []<class C>(C grad, C y) { return grad * math::conjugate(C(1) - y) * math::conjugate(y); }, // y² may be too large
    FloatsAndComplex>
    kSigmoid("sigmoid_backward");
const Binary<[](auto grad, auto y) { return grad * math::conjugate(decltype(y)(1) - y * y); }, FloatsAndComplex>
    kTanh("tanh_backward");
const Binary<[](auto grad, auto x) { return geluGradient(grad, x); }, Floats> kGelu("gelu_backward");
const Binary<[](auto grad, auto x) { return geluTanhGradient(grad, x); }, Floats> kGeluTanh("gelu_tanh_backward");
const Binary<[](auto grad, auto x) { return siluGradient(grad, x); }, FloatsAndComplex> kSilu("silu_backward");
const Binary<[](auto grad, auto x) { return mishGradient(grad, x); }, Floats> kMish("mish_backward");
const Binary<[]<class C>(C grad, C x) { return C(-3) < x && x < C(3) ? grad / C(6) : C(0); }, Floats>
    kHardsigmoid("hardsigmoid_backward");
const Binary<
    []<class C>(C grad, C x) { return x <= C(-3) ? C(0) : (x >= C(3) ? grad : grad * (x / C(3) + C(0.5))); },
    Floats>
    kHardswish("hardswish_backward");
const Binary<[](auto grad, auto x) { return grad * math::sigmoid(-x); }, Floats> kLogSigmoid("log_sigmoid_backward");

template <class C>
struct PreluGradient {
  C operator()(C x, C weight, C grad) const { return x > C(0) ? grad : weight * grad; }
};
const ElementwiseOf<PreluGradient, Floats> kPrelu("prelu_backward");
const Binary<[]<class C>(C x, C grad) { return C(0) < x ? C(0) : x * grad; }, Floats>
    kPreluWeight("prelu_weight_backward");

/// Of the second half of glu's input. The first half's is grad * sigmoid(second): "glu".
template <class C>
struct GluGradient {
  C operator()(C grad, C a, C b) const {
    const C s = math::sigmoid(b);
    return (C(1) - s) * s * a * grad; // small numbers first: a product of two large ones is none
  }
};
const ElementwiseOf<GluGradient, FloatsAndComplex> kGlu("glu_backward");

template <class C>
struct EluGradient {
  C alpha, scale, inputScale;
  C isResult; // not 0: x is elu's result
  C operator()(C grad, C x) const {
    const C negative = isResult != C(0) ? x + alpha * scale : alpha * scale * std::exp(x * inputScale);
    return x > C(0) ? grad * scale : grad * inputScale * negative; // of a NaN, too
  }
};
const ElementwiseOf<EluGradient, Floats> kElu("elu_backward");

template <class C>
struct LeakyReluGradient {
  C slope;
  C operator()(C x, C grad) const { return x > C(0) ? grad : grad * slope; }
};
const ElementwiseOf<LeakyReluGradient, Floats> kLeakyRelu("leaky_relu_backward");

template <class C>
struct HardtanhGradient {
  C low, high;
  C operator()(C grad, C x) const { return x <= low || x >= high ? C(0) : grad; }
};
const ElementwiseOf<HardtanhGradient, Floats> kHardtanh("hardtanh_backward");

template <class C>
struct SoftplusGradient {
  C beta, threshold;
  C operator()(C grad, C x) const { return x * beta > threshold ? grad : grad * math::sigmoid(x * beta); }
};
const ElementwiseOf<SoftplusGradient, Floats> kSoftplus("softplus_backward");

template <class C>
struct ShrinkGradient {
  C lambda;
  C operator()(C grad, C x) const { return x >= -lambda && x <= lambda ? C(0) : grad; }
};
const ElementwiseOf<ShrinkGradient, Floats> kShrink("shrink_backward");

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
const ElementwiseOf<LogitGradient, Floats> kLogit("logit_backward");

} // namespace

} // namespace openreg::kernels
