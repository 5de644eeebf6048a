// The kernels "fused_sgd": a step of stochastic gradient descent, with momentum or without.
#include "kernels/launch/registry.h"
#include "kernels/loop/multiversion.h"
#include "kernels/training/fused_step.h"

namespace openreg::kernels {

namespace {

/// The numbers of a step, rounded to the type that it is computed in.
template <class C>
struct SgdNumbers {
  C gradScale;
  C sign; ///< Of the gradient.
  C weightDecay;
  C momentum;
  C gradientShare; ///< Of the momentum: 1 - dampening.
  C rate;
  bool firstStep;
  bool nesterov;
};

template <class C, bool scaled>
OPENREG_MULTIVERSION void sgd(const SgdNumbers<C> by, int64_t count, C* __restrict parameter, C* __restrict gradient) {
  for (int64_t i = 0; i < count; ++i) {
    C g = gradient[i];
    if constexpr (scaled) {
      g /= by.gradScale;
      gradient[i] = g;
    }
    parameter[i] -= by.rate * (g * by.sign + by.weightDecay * parameter[i]);
  }
}

template <class C, bool scaled>
OPENREG_MULTIVERSION void sgdWithMomentum(
    const SgdNumbers<C> by, int64_t count, C* __restrict parameter, C* __restrict gradient, C* __restrict momentum) {
  const bool firstStep = by.firstStep, nesterov = by.nesterov;
  for (int64_t i = 0; i < count; ++i) {
    C g = gradient[i];
    if constexpr (scaled) {
      g /= by.gradScale;
      gradient[i] = g;
    }
    g = g * by.sign + by.weightDecay * parameter[i];
    const C m = firstStep ? g : momentum[i] * by.momentum + g * by.gradientShare;
    momentum[i] = m;
    parameter[i] -= by.rate * (nesterov ? g + m * by.momentum : m);
  }
}

template <class C>
class SgdStep {
 public:
  SgdStep(const FusedArgs& args, int /*i*/)
      : numbers_{
            .gradScale = args.gradScale != nullptr ? static_cast<C>(*args.gradScale) : C(1),
            .sign = args.maximize != 0 ? C(-1) : C(1),
            .weightDecay = static_cast<C>(args.weightDecay),
            .momentum = static_cast<C>(args.first),
            .gradientShare = static_cast<C>(1 - args.second),
            .rate = static_cast<C>(learningRate(args)),
            .firstStep = args.firstStep != 0,
            .nesterov = args.variant != 0},
        scaled_(args.gradScale != nullptr) {}

  static bool hasArrays(int count) { return count >= 2; }
  static void* array(const FusedArgs& args, int i, int k) { return k < args.arrays ? args.array(i, k) : nullptr; }

  void operator()(int64_t count, C* (&a)[3]) const {
    if (a[kSgdMomentum] == nullptr) {
      scaled_ ? sgd<C, true>(numbers_, count, a[kSgdParameter], a[kSgdGradient])
              : sgd<C, false>(numbers_, count, a[kSgdParameter], a[kSgdGradient]);
    } else {
      const auto step = scaled_ ? sgdWithMomentum<C, true> : sgdWithMomentum<C, false>;
      step(numbers_, count, a[kSgdParameter], a[kSgdGradient], a[kSgdMomentum]);
    }
  }

 private:
  SgdNumbers<C> numbers_;
  bool scaled_;
};

const FusedEntry<"fused_sgd.float", float, SgdStep<float>, 1> kFusedSgd;
const FusedEntry<"fused_sgd.double", double, SgdStep<double>, 1> kFusedSgdDouble;

} // namespace

} // namespace openreg::kernels
