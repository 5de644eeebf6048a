// The kernels "nll_loss.…" and "nll_loss_backward.…".
#include "kernels/loss/nll_loss.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "kernels/launch/registry.h"
#include "kernels/loop/block.h"
#include "kernels/loop/convert.h"
#include "kernels/loop/element.h"
#include "kernels/loop/functor.h"

namespace openreg::kernels {

namespace {

template <class C>
C get(const Vector& vector, int64_t i, int64_t offset = 0) {
  C value;
  const char* from = static_cast<const char*>(vector.data) + i * vector.stride + offset;
  if (vector.dtype == kDTypeOf<C>) { // a call that looks at the type takes ten times as long as reading
    std::memcpy(&value, from, sizeof(C));
  } else {
    load(vector.dtype, from, 0, 1, &value);
  }
  return value;
}

template <class C>
void put(const Vector& vector, int64_t i, C value, int64_t offset = 0) {
  char* to = static_cast<char*>(vector.data) + i * vector.stride + offset;
  if (vector.dtype == kDTypeOf<C>) {
    std::memcpy(to, &value, sizeof(C));
  } else {
    store(vector.dtype, to, 0, 1, &value);
  }
}

template <class C>
C weightOf(const NllLossArgs& args, int64_t target) {
  return args.weight.data != nullptr ? get<C>(args.weight, target) : C(1);
}

/// A loop over the rows; stops at a target that is no class, which is the host's mistake and an error of the device.
template <class Use>
void forRows(const NllLossArgs& args, int64_t begin, int64_t end, orKernelContext& context, Use use) {
  for (int64_t row = begin; row < end; ++row) {
    const auto target = get<int64_t>(args.target, row);
    if (target != args.ignoreIndex && (target < 0 || target >= args.classes)) {
      char text[64];
      std::snprintf(text, sizeof(text), "Target %lld is out of bounds.", static_cast<long long>(target));
      return context.fail(&context, orErrorAssert, text);
    }
    use(row, target);
  }
}

template <class C>
struct Forward {
  void operator()(const NllLossArgs& args, orKernelContext& context) const {
    double sum = 0;
    double totalWeight = 0;
    forRows(args, 0, args.batch, context, [&](int64_t row, int64_t target) {
      const bool counts = target != args.ignoreIndex;
      const C weight = counts ? weightOf<C>(args, target) : C(0);
      const C loss = counts ? -get<C>(args.input, row, target * args.classStride) * weight : C(0);
      sum += loss;
      totalWeight += weight;
      if (args.reduction == LossReduction::None) {
        put(args.loss, row, loss);
      }
    });
    put(args.totalWeight, 0, static_cast<C>(args.reduction == LossReduction::None ? 0 : totalWeight));
    if (args.reduction != LossReduction::None) {
      put(args.loss, 0, static_cast<C>(args.reduction == LossReduction::Mean ? sum / totalWeight : sum));
    }
  }
};

template <class C>
struct Backward {
  void operator()(const NllLossArgs& args, orKernelContext& context) const {
    struct Loop {
      const NllLossArgs& args;
      orKernelContext& context;
    } loop{args, context};
    context.parallelFor(
        &context, args.batch, kGrain / std::max(int64_t{1}, args.classes) + 1,
        [](void* state, int64_t begin, int64_t end) {
          const auto& [args, context] = *static_cast<Loop*>(state);
          forRows(args, begin, end, context, [&](int64_t row, int64_t target) { derive(args, row, target); });
        },
        &loop);
  }

  static void derive(const NllLossArgs& args, int64_t row, int64_t target) {
    const C zeros[kBlock] = {};
    for (int64_t i = 0; i < args.classes; i += kBlock) {
      auto* to = static_cast<char*>(args.input.data) + row * args.input.stride + i * args.classStride;
      store(args.input.dtype, to, args.classStride, std::min(kBlock, args.classes - i), zeros);
    }
    if (target == args.ignoreIndex) {
      return;
    }
    C grad = get<C>(args.loss, args.reduction == LossReduction::None ? row : 0);
    if (args.reduction == LossReduction::Mean) {
      grad /= get<C>(args.totalWeight, 0);
    }
    put(args.input, row, -grad * weightOf<C>(args, target), target * args.classStride);
  }
};

const RegisterTypes<NllLossArgs, Forward, float, double> kForward("nll_loss");
const RegisterTypes<NllLossArgs, Backward, float, double> kBackward("nll_loss_backward");

} // namespace

} // namespace openreg::kernels
