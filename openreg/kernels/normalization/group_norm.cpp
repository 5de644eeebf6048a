// The kernels "group_norm" and "group_norm_backward": a group of an image at a time.
#include <cmath>

#include "kernels/loop/element.h"
#include "kernels/loop/loops.h"
#include "kernels/normalization/normalization.h"
#include "kernels/normalization/row_sums.h"

namespace openreg::kernels {

namespace {

template <class C>
Accumulator<C> factor(const void* weight, int64_t channel) {
  return weight != nullptr ? Accumulator<C>(static_cast<const C*>(weight)[channel]) : Accumulator<C>(1);
}

/// A group of an image at a time. @tparam Args Those of the kernel.
template <class Args>
class ByGroup : public LoopOver<Args> {
 public:
  using LoopOver<Args>::LoopOver;
  int64_t count() const { return this->args_.batch * this->args_.groups; }
  int64_t grain() const { return grainOfRows(this->args_.channels * this->args_.positions); }
};

template <class C>
class GroupNorm : public ByGroup<GroupNormArgs> {
  using A = Accumulator<C>;

 public:
  using ByGroup::ByGroup;
  void operator()(int64_t begin, int64_t end) const {
    const int64_t count = args_.channels * args_.positions;
    for (int64_t group = begin; group < end; ++group) {
      const C* input = static_cast<const C*>(args_.input) + group * count;
      C* output = static_cast<C*>(args_.output) + group * count;
      const A mean = sumOf(input, count) / A(count);
      const A rstd = A(1) / std::sqrt(squaresOf(input, C(mean), count) / A(count) + A(args_.eps));
      static_cast<C*>(args_.mean)[group] = C(mean);
      static_cast<C*>(args_.rstd)[group] = C(rstd);
      for (int64_t i = 0; i < args_.channels; ++i) {
        const int64_t channel = group % args_.groups * args_.channels + i;
        const A scale = rstd * factor<C>(args_.weight, channel);
        const A bias = args_.bias != nullptr ? A(static_cast<const C*>(args_.bias)[channel]) : A(0);
        const int64_t at = i * args_.positions;
        scaleRow(output + at, input + at, C(mean), C(scale), C(bias), args_.positions);
      }
    }
  }
};

/// What each group of an image contributes, and the gradient of its input. Of each channel of each image: the sum of
/// the gradients, and of their products with the normalised input.
template <class C>
class GroupNormInputGradient : public ByGroup<GroupNormBackwardArgs> {
  using A = Accumulator<C>;

 public:
  using ByGroup::ByGroup;
  void operator()(int64_t begin, int64_t end) const {
    for (int64_t group = begin; group < end; ++group) {
      double* sums = args_.sums + group * args_.channels;
      derive(group, sums, sums + args_.batch * args_.groups * args_.channels);
    }
  }

 private:
  void derive(int64_t group, double* sums, double* products) const {
    const int64_t start = group * args_.channels * args_.positions;
    const C* grad = static_cast<const C*>(args_.gradOutput) + start;
    const C* input = static_cast<const C*>(args_.input) + start;
    const A mean = A(static_cast<const C*>(args_.mean)[group]);
    const A rstd = A(static_cast<const C*>(args_.rstd)[group]);
    const int64_t first = group % args_.groups * args_.channels;
    A sum(0);
    A product(0);
    for (int64_t i = 0; i < args_.channels; ++i) {
      const int64_t at = i * args_.positions;
      const A channelSum = sumOf(grad + at, args_.positions);
      const A channelProduct = productsOf(input + at, C(mean), grad + at, args_.positions) * rstd;
      sums[i] = channelSum;
      products[i] = channelProduct;
      sum += channelSum * factor<C>(args_.weight, first + i);
      product += channelProduct * factor<C>(args_.weight, first + i);
    }
    if (args_.gradInput == nullptr) {
      return;
    }
    const A count = A(args_.channels * args_.positions);
    const A slope = -product / count * rstd * rstd;
    const A shift = -sum / count * rstd;
    C* out = static_cast<C*>(args_.gradInput) + start;
    for (int64_t i = 0; i < args_.channels; ++i) {
      const int64_t at = i * args_.positions;
      const A scale = rstd * factor<C>(args_.weight, first + i);
      combineRows(out + at, grad + at, C(scale), input + at, C(mean), C(slope), C(shift), args_.positions);
    }
  }
};

/// Of each channel, the sums over the batch.
template <class C>
class GroupNormJoinedSums : public LoopOver<GroupNormBackwardArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.groups * args_.channels; }
  int64_t grain() const { return grainOfRows(args_.batch); }
  void operator()(int64_t begin, int64_t end) const {
    const int64_t channels = args_.groups * args_.channels;
    for (int64_t channel = begin; channel < end; ++channel) {
      double sum = 0;
      double product = 0;
      for (int64_t n = 0; n < args_.batch; ++n) {
        sum += args_.sums[n * channels + channel];
        product += args_.sums[(args_.batch + n) * channels + channel];
      }
      if (args_.gradWeight != nullptr) {
        static_cast<C*>(args_.gradWeight)[channel] = C(product);
      }
      if (args_.gradBias != nullptr) {
        static_cast<C*>(args_.gradBias)[channel] = C(sum);
      }
    }
  }
};

template <Name name, class C>
using GroupNormBackward = Phases<
    name,
    GroupNormBackwardArgs,
    RowKernel<GroupNormBackwardArgs, GroupNormInputGradient<C>>,
    LoopKernel<GroupNormBackwardArgs, GroupNormJoinedSums<C>>>;

const RowLoops<"group_norm", GroupNormArgs, GroupNorm, float, double> kForward;
const GroupNormBackward<"group_norm_backward.float", float> kBackward;
const GroupNormBackward<"group_norm_backward.double", double> kBackwardDouble;

} // namespace

} // namespace openreg::kernels
