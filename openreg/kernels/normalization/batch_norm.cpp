// The kernels "batch_norm" and "batch_norm_backward": a channel at a time.
#include <cmath>
#include <vector>

#include "kernels/launch/dtype.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/element.h"
#include "kernels/normalization/normalization.h"
#include "kernels/normalization/row_sums.h"

namespace openreg::kernels {

namespace {

/// Calls `use(begin, end)` for ranges of channels, several at a time.
template <class Args, class Use>
void forEachChannels(orKernelContext& context, const Args& args, Use use) {
  context.parallelFor(
      &context, args.channels, kGrain / std::max(int64_t{1}, args.batch * args.positions) + 1,
      [](void* state, int64_t begin, int64_t end) { (*static_cast<Use*>(state))(begin, end); }, &use);
}

/// The numbers of one channel after the other, as rows: where they are, or, if those would be short, gathered in one
/// row.
template <class C>
class ChannelRows {
 public:
  /// @param array batch × channels × positions numbers.
  template <class Args>
  ChannelRows(const Args& args, void* array)
      : array_(static_cast<C*>(array)), batch_(args.batch), channels_(args.channels), positions_(args.positions),
        gathered_(static_cast<size_t>(positions_ < kShort ? batch_ * positions_ : 0)) {}

  int64_t rows() const { return gathers() ? 1 : batch_; }
  int64_t length() const { return gathers() ? batch_ * positions_ : positions_; }
  C* row(int64_t n, int64_t channel) { return gathers() ? gathered_.data() : start(n, channel); }

  /// To be called before a channel's rows are read,
  void load(int64_t channel) {
    move([&](int64_t i, int64_t n, int64_t position) { gathered_[size_t(i)] = start(n, channel)[position]; });
  }
  /// and after they have been written.
  void store(int64_t channel) {
    move([&](int64_t i, int64_t n, int64_t position) { start(n, channel)[position] = gathered_[size_t(i)]; });
  }

 private:
  static constexpr int64_t kShort = 16;

  bool gathers() const { return positions_ < kShort; }
  C* start(int64_t n, int64_t channel) const { return array_ + (n * channels_ + channel) * positions_; }

  template <class Move>
  void move(Move one) {
    for (int64_t n = 0, i = 0; gathers() && n < batch_; ++n) {
      for (int64_t position = 0; position < positions_; ++position, ++i) {
        one(i, n, position);
      }
    }
  }

  C* array_;
  int64_t batch_;
  int64_t channels_;
  int64_t positions_;
  std::vector<C> gathered_;
};

template <class C>
C valueOr(const void* array, int64_t i, C otherwise) {
  return array != nullptr ? static_cast<const C*>(array)[i] : otherwise;
}

template <class C>
struct BatchNorm {
  using A = Accumulator<C>;

  void operator()(const BatchNormArgs& args, orKernelContext& context) const {
    forEachChannels(context, args, [&](int64_t begin, int64_t end) {
      ChannelRows<C> input(args, args.input);
      ChannelRows<C> output(args, args.output);
      for (int64_t channel = begin; channel < end; ++channel) {
        input.load(channel);
        A mean;
        A invstd;
        if (args.training != 0) {
          measure(args, channel, input, mean, invstd);
        } else {
          mean = A(valueOr(args.runningMean, channel, C(0)));
          invstd = A(1) / std::sqrt(A(valueOr(args.runningVar, channel, C(1))) + A(args.eps));
        }
        const A scale = invstd * A(valueOr(args.weight, channel, C(1)));
        const C bias = valueOr(args.bias, channel, C(0));
        for (int64_t n = 0; n < input.rows(); ++n) {
          scaleRow(output.row(n, channel), input.row(n, channel), C(mean), C(scale), bias, input.length());
        }
        output.store(channel);
      }
    });
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
    update(args.runningMean, channel, mean, args.momentum);
    update(args.runningVar, channel, squares / (count - A(1)), args.momentum);
  }

  static void update(void* running, int64_t channel, A value, double momentum) {
    if (running != nullptr) {
      C& kept = static_cast<C*>(running)[channel];
      kept = C(A(momentum) * value + A(1 - momentum) * A(kept));
    }
  }
};

template <class C>
struct BatchNormBackward {
  using A = Accumulator<C>;

  void operator()(const BatchNormBackwardArgs& args, orKernelContext& context) const {
    forEachChannels(context, args, [&](int64_t begin, int64_t end) {
      ChannelRows<C> grad(args, args.gradOutput);
      ChannelRows<C> input(args, args.input);
      ChannelRows<C> out(args, args.gradInput);
      for (int64_t channel = begin; channel < end; ++channel) {
        grad.load(channel);
        input.load(channel);
        derive(args, channel, grad, input, out);
        if (args.gradInput != nullptr) {
          out.store(channel);
        }
      }
    });
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

const RegisterTypes<"batch_norm", BatchNormArgs, BatchNorm, float, double> kForward;
const RegisterTypes<"batch_norm_backward", BatchNormBackwardArgs, BatchNormBackward, float, double> kBackward;

} // namespace

} // namespace openreg::kernels
