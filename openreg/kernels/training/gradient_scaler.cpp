// The kernels "amp_unscale" and "amp_update_scale".
#include "kernels/training/gradient_scaler.h"

#include <atomic>
#include <cmath>

#include "kernels/launch/registry.h"
#include "kernels/loop/element.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

/// Whether all gradients were finite. x - x is 0 or NaN, which adds up without a branch.
template <class C>
OPENREG_MULTIVERSION bool unscale(C* gradients, C inverseScale, int64_t count) {
  bool finite = true;
  for (int64_t i = 0; i < count; ++i) {
    finite &= gradients[i] - gradients[i] == C(0);
    gradients[i] *= inverseScale;
  }
  return finite;
}

template <class C>
struct Unscale {
  void operator()(const UnscaleArgs& args, orKernelContext& context) const {
    context.parallelFor(
        &context, args.count, kGrain,
        [](void* state, int64_t begin, int64_t end) {
          const auto& args = *static_cast<const UnscaleArgs*>(state);
          if (!unscale(static_cast<C*>(args.gradients) + begin, static_cast<C>(*args.inverseScale), end - begin)) {
            std::atomic_ref(*args.found).store(1.0F, std::memory_order_relaxed); // others may, too
          }
        },
        const_cast<UnscaleArgs*>(&args));
  }
};

struct UpdateScale {
  void operator()(const UpdateScaleArgs& args, orKernelContext& /*context*/) const {
    if (*args.found != 0.0F) {
      *args.scale = static_cast<float>(*args.scale * args.backoff);
      *args.steps = 0;
    } else if (++*args.steps == args.interval) {
      const auto grown = static_cast<float>(*args.scale * args.growth);
      *args.scale = std::isfinite(grown) ? grown : *args.scale;
      *args.steps = 0;
    }
  }
};

const RegisterTypes<UnscaleArgs, Unscale, float, double> kUnscale("amp_unscale");
const Register<UpdateScaleArgs> kUpdateScale("amp_update_scale.float", UpdateScale{});

} // namespace

} // namespace openreg::kernels
