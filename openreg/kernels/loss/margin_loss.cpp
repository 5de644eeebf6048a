// The kernels "margin_loss" and "margin_loss_backward": a row at a time.
#include "kernels/loss/margin_loss.h"

#include <algorithm>
#include <vector>

#include "kernels/image/planes.h"
#include "kernels/launch/dtype.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/multiversion.h"
#include "kernels/reduction/reduce.h"

namespace openreg::kernels {

namespace {

/// One thread's room for what a row needs: a number for each class.
template <class C>
struct Classes {
  std::vector<C> isOther; ///< 1, or 0 if the class is a target.
  std::vector<C> missing; ///< How much the margin between a target and the class is too small.
  std::vector<C> parts;   ///< What comes from the class, or goes to it.
};

/// How many targets a row has, of which isOther is told. None, and an error of the device, if a target is no class.
template <class C>
int64_t markTargets(const MarginLossArgs& args, int64_t row, std::vector<C>& isOther, orKernelContext& context) {
  const int64_t* targets = args.target + row * args.targets;
  isOther.assign(static_cast<size_t>(args.classes), C(1));
  for (int64_t i = 0; i < args.targets; ++i) {
    if (targets[i] == -1 && args.targets > 1) {
      return i;
    }
    if (targets[i] < 0 || targets[i] >= args.classes) {
      isOther.assign(isOther.size(), C(1));
      context.fail(&context, orErrorAssert, "target out of range");
      return 0;
    }
    isOther[static_cast<size_t>(targets[i])] = C(0);
  }
  return args.targets;
}

/// Without a branch: what is not missing, of a target too, is 0.
template <class C>
OPENREG_MULTIVERSION void findMissing(int64_t classes, C* missing, const C* input, const C* isOther, C fromTarget) {
  for (int64_t i = 0; i < classes; ++i) {
    const C difference = fromTarget + input[i];
    missing[i] = ((difference > C(0)) & (isOther[i] != C(0))) ? difference : C(0);
  }
}

/// Calls `use(target, missing, weight)` for each target of a row.
template <class C, class Use>
void forEachTarget(const MarginLossArgs& args, int64_t row, int64_t targets, Classes<C>& room, Use use) {
  const C* input = static_cast<const C*>(args.input) + row * args.classes;
  room.missing.resize(static_cast<size_t>(args.classes));
  room.parts.resize(static_cast<size_t>(args.classes));
  for (int64_t i = 0; i < targets; ++i) {
    const int64_t target = args.target[row * args.targets + i];
    const C fromTarget = static_cast<C>(args.margin) - input[target];
    findMissing(args.classes, room.missing.data(), input, room.isOther.data(), fromTarget);
    use(target, room.missing.data(), args.weight != nullptr ? static_cast<const C*>(args.weight)[target] : C(1));
  }
}

/// Of one part of each class.
struct Total {
  double start() const { return 0; }
  template <class C>
  double step(double sum, C x, int64_t) const {
    return sum + static_cast<double>(x);
  }
  double join(double a, double b) const { return a + b; }
};

template <class C>
double totalOf(const std::vector<C>& parts) {
  return stateOfRun(Total(), parts.data(), static_cast<int64_t>(parts.size()), 0);
}

/// What each class adds to a loss.
template <class C>
OPENREG_MULTIVERSION void findLosses(int64_t classes, C* losses, const C* missing, C weight, bool isLinear) {
  for (int64_t i = 0; i < classes; ++i) {
    const C loss = (isLinear ? missing[i] : missing[i] * missing[i]) * weight;
    losses[i] = missing[i] > C(0) ? loss : C(0);
  }
}

template <class C>
struct MarginLoss {
  void operator()(const MarginLossArgs& args, orKernelContext& context) const {
    forEachPlane(context, args.rows, args.classes * args.targets, [&](int64_t row) {
      Classes<C> room;
      const int64_t targets = markTargets(args, row, room.isOther, context);
      double sum = 0;
      forEachTarget(args, row, targets, room, [&](int64_t, const C* missing, C weight) {
        findLosses(args.classes, room.parts.data(), missing, weight, args.power == 1);
        sum += totalOf(room.parts);
      });
      static_cast<C*>(args.loss)[row] = static_cast<C>(sum / static_cast<double>(args.classes));
      for (int64_t i = 0; args.isTarget != nullptr && i < args.classes; ++i) {
        static_cast<C*>(args.isTarget)[row * args.classes + i] = C(1) - room.isOther[static_cast<size_t>(i)];
      }
    });
  }
};

/// What each class gets of a gradient.
template <class C>
OPENREG_MULTIVERSION void addShares(int64_t classes, C* grads, C* parts, const C* missing, C share, bool isLinear) {
  for (int64_t i = 0; i < classes; ++i) {
    const C part = isLinear ? share : C(2) * share * missing[i]; // in this order: twice a large number is none
    parts[i] = missing[i] > C(0) ? part : C(0);
    grads[i] += parts[i];
  }
}

template <class C>
OPENREG_MULTIVERSION void scale(int64_t count, C* x, C factor) {
  for (int64_t i = 0; i < count; ++i) {
    x[i] *= factor;
  }
}

template <class C>
struct MarginLossBackward {
  void operator()(const MarginLossArgs& args, orKernelContext& context) const {
    forEachPlane(context, args.rows, args.classes * args.targets, [&](int64_t row) {
      Classes<C> room;
      const int64_t targets = markTargets(args, row, room.isOther, context);
      C* grads = static_cast<C*>(args.gradInput) + row * args.classes;
      std::fill_n(grads, args.classes, C(0));
      forEachTarget(args, row, targets, room, [&](int64_t target, const C* missing, C weight) {
        const C share = weight / static_cast<C>(args.classes);
        addShares(args.classes, grads, room.parts.data(), missing, share, args.power == 1);
        grads[target] -= static_cast<C>(totalOf(room.parts)); // what the others get
      });
      // At the end, and to all: a NaN reaches the whole row.
      scale(args.classes, grads, static_cast<const C*>(args.loss)[row]);
    });
  }
};

const RegisterTypes<"margin_loss", MarginLossArgs, MarginLoss, float, double> kForward;
const RegisterTypes<"margin_loss_backward", MarginLossArgs, MarginLossBackward, float, double> kBackward;

} // namespace

} // namespace openreg::kernels
