// The kernels "amp_unscale.…".
#include "kernels/training/gradient_scaler.h"

#include <algorithm>
#include <atomic>

#include "kernels/launch/registry.h"
#include "kernels/loop/list_loop.h"
#include "kernels/loop/loop_kernel.h"
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
class Unscale {
 public:
  static const char* refusal(const UnscaleArgs& args) {
    return args.count < 0 || args.count > kMaxUnscaled ? "count is out of range" : nullptr;
  }
  explicit Unscale(const UnscaleArgs& args) : args_(args) {
    for (int64_t i = 0; i < args.count; ++i) {
      elements_ += args.gradients[i].count;
    }
  }
  int64_t count() const { return elements_; }
  void operator()(int64_t begin, int64_t end) const {
    const auto countOf = [&](int i) { return args_.gradients[i].count; };
    eachPart(static_cast<int>(args_.count), countOf, begin, end, [&](int i, int64_t from, int64_t to) {
      C* gradients = static_cast<C*>(args_.gradients[i].elements) + from;
      if (!unscale(gradients, static_cast<C>(*args_.inverseScale), to - from)) {
        std::atomic_ref(*args_.found).store(1.0F, std::memory_order_relaxed); // others may, too
      }
    });
  }

 private:
  const UnscaleArgs& args_;
  int64_t elements_ = 0; ///< Of all gradients.
};

template <Name name, class C>
using UnscaleEntry =
    Entry<name, UnscaleArgs, offsetof(UnscaleArgs, gradients), &LoopKernel<UnscaleArgs, Unscale<C>>::run>;

const UnscaleEntry<"amp_unscale.float", float> kUnscale;
const UnscaleEntry<"amp_unscale.double", double> kUnscaleDouble;

} // namespace

} // namespace openreg::kernels
