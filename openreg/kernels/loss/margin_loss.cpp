// The kernels "margin_loss" and "margin_loss_backward": a row at a time.
#include "kernels/loss/margin_loss.h"

#include <algorithm>
#include <vector>

#include "kernels/image/planes.h"
#include "kernels/launch/dtype.h"
#include "kernels/launch/registry.h"

namespace openreg::kernels {

namespace {

/// The targets of one row, and which classes they are.
class Targets {
 public:
  /// Empty, and an error of the device, if a target is no class.
  Targets(const MarginLossArgs& args, int64_t row, orKernelContext& context)
      : begin_(args.target + row * args.targets), isTarget_(static_cast<size_t>(args.classes)) {
    for (; count_ < args.targets; ++count_) {
      const int64_t target = begin_[count_];
      if (target == -1 && args.targets > 1) {
        return;
      }
      if (target < 0 || target >= args.classes) {
        count_ = 0;
        context.fail(&context, orErrorAssert, "target out of range");
        return;
      }
      isTarget_[static_cast<size_t>(target)] = true;
    }
  }

  const int64_t* begin() const { return begin_; }
  const int64_t* end() const { return begin_ + count_; }
  bool has(int64_t index) const { return isTarget_[static_cast<size_t>(index)]; }

 private:
  const int64_t* begin_;
  int64_t count_ = 0;
  std::vector<bool> isTarget_;
};

/// Calls `use(target, other, missing, weight)` for each pair of classes whose margin is too small.
template <class C, class Use>
void forEachPair(const MarginLossArgs& args, int64_t row, const Targets& targets, Use use) {
  const C* input = static_cast<const C*>(args.input) + row * args.classes;
  for (const int64_t target : targets) {
    const C weight = args.weight != nullptr ? static_cast<const C*>(args.weight)[target] : C(1);
    for (int64_t other = 0; other < args.classes; ++other) {
      const C missing = static_cast<C>(args.margin) - input[target] + input[other];
      if (missing > C(0) && !targets.has(other)) {
        use(target, other, missing, weight);
      }
    }
  }
}

template <class C>
struct MarginLoss {
  void operator()(const MarginLossArgs& args, orKernelContext& context) const {
    forEachPlane(context, args.rows, args.classes * args.targets, [&](int64_t row) {
      const Targets targets(args, row, context);
      double sum = 0;
      forEachPair<C>(args, row, targets, [&](int64_t, int64_t, C missing, C weight) {
        sum += (args.power == 1 ? missing : missing * missing) * weight;
      });
      static_cast<C*>(args.loss)[row] = static_cast<C>(sum / static_cast<double>(args.classes));
      for (int64_t i = 0; args.isTarget != nullptr && i < args.classes; ++i) {
        static_cast<C*>(args.isTarget)[row * args.classes + i] = targets.has(i) ? C(1) : C(0);
      }
    });
  }
};

template <class C>
struct MarginLossBackward {
  void operator()(const MarginLossArgs& args, orKernelContext& context) const {
    forEachPlane(context, args.rows, args.classes * args.targets, [&](int64_t row) {
      const Targets targets(args, row, context);
      C* grads = static_cast<C*>(args.gradInput) + row * args.classes;
      std::fill_n(grads, args.classes, C(0));
      forEachPair<C>(args, row, targets, [&](int64_t target, int64_t other, C missing, C weight) {
        const C share = weight / static_cast<C>(args.classes);
        const C grad = args.power == 1 ? share : C(2) * share * missing;
        grads[target] -= grad;
        grads[other] += grad;
      });
      // At the end, and to all: a NaN reaches the whole row.
      for (int64_t i = 0; i < args.classes; ++i) {
        grads[i] *= static_cast<const C*>(args.loss)[row];
      }
    });
  }
};

const RegisterTypes<MarginLossArgs, MarginLoss, float, double> kForward("margin_loss");
const RegisterTypes<MarginLossArgs, MarginLossBackward, float, double> kBackward("margin_loss_backward");

} // namespace

} // namespace openreg::kernels
