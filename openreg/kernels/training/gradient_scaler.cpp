// The kernels "amp_unscale" and "amp_update_scale".
#include "kernels/training/gradient_scaler.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "kernels/launch/registry.h"
#include "kernels/loop/element.h"
#include "kernels/loop/list_loop.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

/// Whether all gradients were finite: x - x is 0 or NaN, and each lane keeps a NaN that it has met.
template <class C>
OPENREG_MULTIVERSION bool unscale(C* gradients, C inverseScale, int64_t count) {
  constexpr int kLanes = 32;
  C rests[kLanes] = {};
  const auto step = [&](int64_t i, int lane) __attribute__((always_inline)) {
    rests[lane] += gradients[i] - gradients[i];
    gradients[i] *= inverseScale;
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      step(i + lane, lane);
    }
  }
  for (int lane = 0; i < count; ++i, ++lane) {
    step(i, lane);
  }
  return std::all_of(rests, rests + kLanes, [](C rest) { return rest == C(0); });
}

template <class C>
void unscalePart(void* state, int64_t begin, int64_t end) {
  const auto& args = *static_cast<const UnscaleArgs*>(state);
  const auto countOf = [&](int i) { return args.gradients[i].count; };
  eachPart(static_cast<int>(args.count), countOf, begin, end, [&](int i, int64_t from, int64_t to) {
    C* gradients = static_cast<C*>(args.gradients[i].elements) + from;
    if (!unscale(gradients, static_cast<C>(*args.inverseScale), to - from)) {
      std::atomic_ref(*args.found).store(1.0F, std::memory_order_relaxed); // others may, too
    }
  });
}

template <class C>
void unscaleAll(const void* bytes, orKernelContext* context) {
  const auto& args = *static_cast<const UnscaleArgs*>(bytes);
  if (args.count < 0 || args.count > kMaxUnscaled) {
    return context->fail(context, orErrorInvalidValue, "count is out of range");
  }
  int64_t elements = 0;
  for (int64_t i = 0; i < args.count; ++i) {
    elements += args.gradients[i].count;
  }
  context->parallelFor(context, elements, kGrain, &unscalePart<C>, const_cast<void*>(bytes));
}

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

constexpr size_t kUnscaleHeader = offsetof(UnscaleArgs, gradients);
const HostEntry<"amp_unscale.float", UnscaleArgs, kUnscaleHeader, &unscaleAll<float>> kUnscale;
const HostEntry<"amp_unscale.double", UnscaleArgs, kUnscaleHeader, &unscaleAll<double>> kUnscaleDouble;
const Register<"amp_update_scale.float", UpdateScaleArgs, UpdateScale> kUpdateScale;

} // namespace

} // namespace openreg::kernels
