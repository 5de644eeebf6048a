// The kernels "group_norm" and "group_norm_backward": a group of an image at a time.
#include <cmath>
#include <vector>

#include "kernels/image/planes.h"
#include "kernels/launch/dtype.h"
#include "kernels/launch/registry.h"
#include "kernels/normalization/normalization.h"
#include "kernels/normalization/row_sums.h"

namespace openreg::kernels {

namespace {

template <class C>
Accumulator<C> factor(const void* weight, int64_t channel) {
  return weight != nullptr ? Accumulator<C>(static_cast<const C*>(weight)[channel]) : Accumulator<C>(1);
}

template <class C>
struct GroupNorm {
  using A = Accumulator<C>;

  void operator()(const GroupNormArgs& args, orKernelContext& context) const {
    const int64_t count = args.channels * args.positions;
    forEachPlane(context, args.batch * args.groups, count, [&](int64_t group) {
      const C* input = static_cast<const C*>(args.input) + group * count;
      C* output = static_cast<C*>(args.output) + group * count;
      const A mean = sumOf(input, count) / A(count);
      const A rstd = A(1) / std::sqrt(squaresOf(input, C(mean), count) / A(count) + A(args.eps));
      static_cast<C*>(args.mean)[group] = C(mean);
      static_cast<C*>(args.rstd)[group] = C(rstd);
      for (int64_t i = 0; i < args.channels; ++i) {
        const int64_t channel = group % args.groups * args.channels + i;
        const A scale = rstd * factor<C>(args.weight, channel);
        const A bias = args.bias != nullptr ? A(static_cast<const C*>(args.bias)[channel]) : A(0);
        scaleRow(output + i * args.positions, input + i * args.positions, C(mean), C(scale), C(bias), args.positions);
      }
    });
  }
};

template <class C>
struct GroupNormBackward {
  using A = Accumulator<C>;

  void operator()(const GroupNormBackwardArgs& args, orKernelContext& context) const {
    const int64_t channels = args.groups * args.channels;
    // Of each channel of each image: the sum of the gradients, and of their products with the normalised input.
    std::vector<A> sums(static_cast<size_t>(args.batch * channels));
    std::vector<A> products(sums.size());
    forEachPlane(context, args.batch * args.groups, args.channels * args.positions, [&](int64_t group) {
      gradients(args, group, sums.data() + group * args.channels, products.data() + group * args.channels);
    });
    forEachPlane(context, channels, args.batch, [&](int64_t channel) {
      A sum(0);
      A product(0);
      for (int64_t n = 0; n < args.batch; ++n) {
        sum += sums[static_cast<size_t>(n * channels + channel)];
        product += products[static_cast<size_t>(n * channels + channel)];
      }
      if (args.gradWeight != nullptr) {
        static_cast<C*>(args.gradWeight)[channel] = C(product);
      }
      if (args.gradBias != nullptr) {
        static_cast<C*>(args.gradBias)[channel] = C(sum);
      }
    });
  }

 private:
  /// What one group of an image contributes, and the gradient of its input.
  static void gradients(const GroupNormBackwardArgs& args, int64_t group, A* sums, A* products) {
    const int64_t start = group * args.channels * args.positions;
    const C* grad = static_cast<const C*>(args.gradOutput) + start;
    const C* input = static_cast<const C*>(args.input) + start;
    const A mean = A(static_cast<const C*>(args.mean)[group]);
    const A rstd = A(static_cast<const C*>(args.rstd)[group]);
    const int64_t first = group % args.groups * args.channels;
    A sum(0);
    A product(0);
    for (int64_t i = 0; i < args.channels; ++i) {
      const int64_t at = i * args.positions;
      sums[i] = sumOf(grad + at, args.positions);
      products[i] = productsOf(input + at, C(mean), grad + at, args.positions) * rstd;
      sum += sums[i] * factor<C>(args.weight, first + i);
      product += products[i] * factor<C>(args.weight, first + i);
    }
    if (args.gradInput == nullptr) {
      return;
    }
    const A count = A(args.channels * args.positions);
    const A slope = -product / count * rstd * rstd;
    const A shift = -sum / count * rstd;
    C* out = static_cast<C*>(args.gradInput) + start;
    for (int64_t i = 0; i < args.channels; ++i) {
      const int64_t at = i * args.positions;
      const A scale = rstd * factor<C>(args.weight, first + i);
      combineRows(out + at, grad + at, C(scale), input + at, C(mean), C(slope), C(shift), args.positions);
    }
  }
};

const RegisterTypes<"group_norm", GroupNormArgs, GroupNorm, float, double> kForward;
const RegisterTypes<"group_norm_backward", GroupNormBackwardArgs, GroupNormBackward, float, double> kBackward;

} // namespace

} // namespace openreg::kernels
