// The kernels "fused_adam": a step of Adam or AdamW.
#include <cmath>

#include "kernels/launch/registry.h"
#include "kernels/loop/multiversion.h"
#include "kernels/training/fused_step.h"

namespace openreg::kernels {

namespace {

/// The numbers of a step, rounded to the type that it is computed in.
template <class C>
struct AdamNumbers {
  C gradScale;
  C sign;         ///< Of the gradient.
  C decay;        ///< Adam: the parameter's share of its gradient. AdamW: what is left of the parameter.
  C averageShare; ///< 1 - beta1
  C beta2;
  C squaresShare; ///< 1 - beta2
  C rootOfCorrection;
  C epsilon;
  C stepSize;
};

// LITERALINCLUDE START: ADAM
/// Each of the loops is over arrays that have nothing in common, and without a branch that depends on an element.
template <class C, bool decoupled, bool scaled, bool amsgrad>
OPENREG_MULTIVERSION void adam(
    const AdamNumbers<C> by,
    int64_t count,
    C* __restrict parameter,
    C* __restrict gradient,
    C* __restrict average,
    C* __restrict squares,
    C* __restrict maxSquares) {
  const bool fromStart = by.averageShare < C(0.5); // as lerp goes to its end from the nearer side
  for (int64_t i = 0; i < count; ++i) {
    C g = gradient[i];
    if constexpr (scaled) {
      g /= by.gradScale;
      gradient[i] = g;
    }
    g *= by.sign;
    C p = parameter[i];
    if constexpr (decoupled) {
      p *= by.decay;
    } else {
      g += p * by.decay;
    }
    const C way = g - average[i];
    const C m = fromStart ? average[i] + by.averageShare * way : g - way * (C(1) - by.averageShare);
    const C v = squares[i] * by.beta2 + by.squaresShare * g * g;
    average[i] = m;
    squares[i] = v;
    C largest = v;
    if constexpr (amsgrad) {
      largest = maxSquares[i] != maxSquares[i] || maxSquares[i] > v ? maxSquares[i] : v;
      maxSquares[i] = largest;
    }
    parameter[i] = p - by.stepSize * m / (std::sqrt(largest) / by.rootOfCorrection + by.epsilon);
  }
}
// LITERALINCLUDE END: ADAM

template <class C>
class AdamStep {
  static constexpr int kAverage = 2, kSquares = 3, kMaxSquares = 4; // among the pieces, of which the step is none

 public:
  AdamStep(const FusedArgs& args, int i)
      : decoupled_(args.variant != 0), scaled_(args.gradScale != nullptr), amsgrad_(args.arrays > kAdamMaxSquares) {
    const double step = *static_cast<const float*>(args.array(i, kAdamStep));
    const double rate = learningRate(args);
    numbers_.gradScale = scaled_ ? static_cast<C>(*args.gradScale) : C(1);
    numbers_.sign = args.maximize != 0 ? C(-1) : C(1);
    numbers_.decay = static_cast<C>(decoupled_ ? 1 - rate * args.weightDecay : args.weightDecay);
    numbers_.averageShare = static_cast<C>(1 - args.first);
    numbers_.beta2 = static_cast<C>(args.second);
    numbers_.squaresShare = static_cast<C>(1 - args.second);
    numbers_.rootOfCorrection = static_cast<C>(std::sqrt(1 - std::pow(args.second, step)));
    numbers_.epsilon = static_cast<C>(args.epsilon);
    numbers_.stepSize = static_cast<C>(rate / (1 - std::pow(args.first, step)));
  }

  static bool hasArrays(int count) { return count == kAdamSquares + 1 || count == kAdamMaxSquares + 1; }
  static void* array(const FusedArgs& args, int i, int k) {
    const int inArgs = k < kAdamStep ? k : k + 1;
    return inArgs < args.arrays ? args.array(i, inArgs) : nullptr;
  }

  void operator()(int64_t count, C* (&a)[5]) const {
    const auto call = [&](auto function) {
      function(numbers_, count, a[kAdamParameter], a[kAdamGradient], a[kAverage], a[kSquares], a[kMaxSquares]);
    };
    const auto withAmsgrad = [&]<bool decoupled, bool scaled> {
      amsgrad_ ? call(adam<C, decoupled, scaled, true>) : call(adam<C, decoupled, scaled, false>);
    };
    if (decoupled_) {
      scaled_ ? withAmsgrad.template operator()<true, true>() : withAmsgrad.template operator()<true, false>();
    } else {
      scaled_ ? withAmsgrad.template operator()<false, true>() : withAmsgrad.template operator()<false, false>();
    }
  }

 private:
  AdamNumbers<C> numbers_;
  bool decoupled_;
  bool scaled_;
  bool amsgrad_;
};

const FusedEntry<"fused_adam.float", float, AdamStep<float>, 3> kFusedAdam;
const FusedEntry<"fused_adam.double", double, AdamStep<double>, 3> kFusedAdamDouble;

} // namespace

} // namespace openreg::kernels
