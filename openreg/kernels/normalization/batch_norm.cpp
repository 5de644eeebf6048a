// The kernels "batch_norm" and "batch_norm_backward": a channel at a time.
#include <cmath>

#include "kernels/loop/element.h"
#include "kernels/loop/loops.h"
#include "kernels/loop/row.h"
#include "kernels/normalization/channel_rows.h"
#include "kernels/normalization/normalization.h"
#include "kernels/normalization/row_sums.h"

namespace openreg::kernels {

namespace {

template <class C>
C valueOr(const void* array, int64_t i, C otherwise) {
  return array != nullptr ? static_cast<const C*>(array)[i] : otherwise;
}

/// A channel at a time. @tparam Args Those of the kernel.
template <class Args>
class ByChannel : public LoopOver<Args> {
 public:
  using LoopOver<Args>::LoopOver;
  int64_t count() const { return this->args_.channels; }
  int64_t grain() const { return grainOfRows(this->args_.batch * this->args_.positions); }
};

template <class C>
class BatchNorm : public ByChannel<BatchNormArgs> {
  using A = Accumulator<C>;

 public:
  using ByChannel::ByChannel;
  void operator()(int64_t begin, int64_t end) const {
    ChannelRows<C> input(args_, args_.input);
    ChannelRows<C> output(args_, args_.output);
    for (int64_t channel = begin; channel < end; ++channel) {
      input.load(channel);
      A mean;
      A invstd;
      if (args_.training != 0) {
        measure(args_, channel, input, mean, invstd);
      } else {
        mean = A(valueOr(args_.runningMean, channel, C(0)));
        invstd = A(1) / std::sqrt(A(valueOr(args_.runningVar, channel, C(1))) + A(args_.eps));
      }
      const A scale = invstd * A(valueOr(args_.weight, channel, C(1)));
      const C bias = valueOr(args_.bias, channel, C(0));
      for (int64_t n = 0; n < input.rows(); ++n) {
        scaleRow(output.row(n, channel), input.row(n, channel), C(mean), C(scale), bias, input.length());
      }
      output.store(channel);
    }
  }

 private:
  static void measure(const BatchNormArgs& args, int64_t channel, ChannelRows<C>& input, A& mean, A& invstd) {
    const auto count = static_cast<A>(args.batch * args.positions);
    A sum(0);
    for (int64_t n = 0; n < input.rows(); ++n) {
      sum += sumOf(input.row(n, channel), input.length());
    }
    mean = sum / count;
    A squares(0);
    for (int64_t n = 0; n < input.rows(); ++n) {
      squares += squaresOf(input.row(n, channel), C(mean), input.length());
    }
    invstd = A(1) / std::sqrt(squares / count + A(args.eps));
    static_cast<C*>(args.mean)[channel] = C(mean);
    static_cast<C*>(args.invstd)[channel] = C(invstd);
    onceARow([&] {
      update(args.runningMean, channel, mean, args.momentum);
      update(args.runningVar, channel, squares / (count - A(1)), args.momentum);
    });
  }

  static void update(void* running, int64_t channel, A value, double momentum) {
    if (running != nullptr) {
      C& kept = static_cast<C*>(running)[channel];
      kept = C(A(momentum) * value + A(1 - momentum) * A(kept));
    }
  }
};

template <class C>
class BatchNormBackward : public ByChannel<BatchNormBackwardArgs> {
  using A = Accumulator<C>;

 public:
  using ByChannel::ByChannel;
  void operator()(int64_t begin, int64_t end) const {
    ChannelRows<C> grad(args_, args_.gradOutput);
    ChannelRows<C> input(args_, args_.input);
    ChannelRows<C> out(args_, args_.gradInput);
    for (int64_t channel = begin; channel < end; ++channel) {
      grad.load(channel);
      input.load(channel);
      derive(args_, channel, grad, input, out);
      if (args_.gradInput != nullptr) {
        out.store(channel);
      }
    }
  }

 private:
  static void derive(
      const BatchNormBackwardArgs& args,
      int64_t channel,
      ChannelRows<C>& grad,
      ChannelRows<C>& input,
      ChannelRows<C>& out) {
    const A mean = A(static_cast<const C*>(args.mean)[channel]);
    const A invstd = A(static_cast<const C*>(args.invstd)[channel]);
    A sum(0);
    A products(0);
    for (int64_t n = 0; n < grad.rows(); ++n) {
      sum += sumOf(grad.row(n, channel), grad.length());
      products += productsOf(input.row(n, channel), C(mean), grad.row(n, channel), grad.length());
    }
    if (args.gradWeight != nullptr) {
      static_cast<C*>(args.gradWeight)[channel] = C(products * invstd);
    }
    if (args.gradBias != nullptr) {
      static_cast<C*>(args.gradBias)[channel] = C(sum);
    }
    if (args.gradInput == nullptr) {
      return;
    }
    const A scale = invstd * A(valueOr(args.weight, channel, C(1)));
    const auto count = static_cast<A>(args.batch * args.positions);
    const A slope = -invstd * invstd * products / count;
    const A shift = -sum / count;
    for (int64_t n = 0; n < grad.rows(); ++n) {
      if (args.training == 0) { // nothing depends on the input, whatever is in it
        multiplyRow(out.row(n, channel), grad.row(n, channel), C(scale), grad.length());
        continue;
      }
      combineAndScale(
          out.row(n, channel), grad.row(n, channel), C(scale), input.row(n, channel), C(mean), C(slope), C(shift),
          grad.length());
    }
  }
};

const RowLoops<"batch_norm", BatchNormArgs, BatchNorm, float, double> kForward;
const RowLoops<"batch_norm_backward", BatchNormBackwardArgs, BatchNormBackward, float, double> kBackward;

} // namespace

} // namespace openreg::kernels
