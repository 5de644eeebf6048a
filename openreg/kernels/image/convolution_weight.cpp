// The kernel "convolution_weight": products of the results and the unfolded images. The gradient of the weight.
#include <vector>

#include "kernels/image/convolution_arrays.h"
#include "kernels/launch/registry.h"

namespace openreg::kernels {

namespace {

/// weight = result × unfolded imageᵀ, summed over the batch.
template <class C>
class WeightSum {
 public:
  explicit WeightSum(const ConvolutionArrays<C>& arrays) : arrays_(arrays), args_(arrays.args) {
    const int64_t wanted = ceilDiv(kPieces, args_.groups);
    block_ = arrays.block(wanted);
    blocks_ = ceilDiv(args_.channels, block_);
    parts_ = std::min(args_.batch, ceilDiv(wanted, blocks_));
    partial_.resize(static_cast<size_t>(parts_ > 1 ? parts_ * elements() : 0));
  }

  void run(orKernelContext& context) {
    context.parallelFor(
        &context, args_.groups * blocks_ * parts_, 1,
        [](void* state, int64_t begin, int64_t end) { static_cast<WeightSum*>(state)->pieces(begin, end); }, this);
    if (parts_ > 1) {
      context.parallelFor(
          &context, elements(), kPanel / parts_,
          [](void* state, int64_t begin, int64_t end) { static_cast<WeightSum*>(state)->join(begin, end); }, this);
    }
  }

 private:
  int64_t elements() const { return args_.groups * args_.filters * arrays_.rows; }

  void pieces(int64_t begin, int64_t end) {
    const int64_t width = arrays_.tile(block_);
    std::vector<C> panel(static_cast<size_t>(arrays_.isPointwise() ? 0 : block_ * arrays_.taps * width));
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t part = piece / blocks_ / args_.groups;
      const int64_t group = piece / blocks_ % args_.groups;
      const int64_t channel = piece % blocks_ * block_;
      const int64_t count = std::min(block_, args_.channels - channel);
      C* weight = arrays_.weight(group, channel);
      if (parts_ > 1) {
        weight = partial_.data() + part * elements() + (weight - arrays_.weight(0, 0));
      }
      bool add = false;
      for (int64_t n = args_.batch * part / parts_; n < args_.batch * (part + 1) / parts_; ++n) {
        const C* image = arrays_.image(n, group, channel);
        for (int64_t first = 0; first < arrays_.positions; first += width, add = true) {
          const int64_t columns = std::min(width, arrays_.positions - first);
          Factor<C> unfolded{image + first, arrays_.positions, true};
          if (!arrays_.isPointwise()) {
            unfold(args_.window, image, count, first, first + columns, panel.data(), columns);
            unfolded = {panel.data(), columns, true};
          }
          multiply<C>(
              arrays_.blas, args_.filters, count * arrays_.taps, columns,
              {arrays_.result(n, group) + first, arrays_.positions, false}, unfolded, add, weight, arrays_.rows);
        }
      }
    }
  }

  void join(int64_t begin, int64_t end) {
    C* weight = arrays_.weight(0, 0);
    std::copy(partial_.data() + begin, partial_.data() + end, weight + begin);
    for (int64_t part = 1; part < parts_; ++part) {
      const C* from = partial_.data() + part * elements();
      for (int64_t i = begin; i < end; ++i) {
        weight[i] += from[i];
      }
    }
  }

  const ConvolutionArrays<C>& arrays_;
  const ConvolutionArgs& args_;
  int64_t block_;          ///< Channels that are one piece of work,
  int64_t blocks_;         ///< and how many such pieces there are.
  int64_t parts_;          ///< Pieces that the batch is cut into; each has a sum of its own,
  std::vector<C> partial_; ///< which is here, if there are several.
};

template <class C>
struct ToWeight {
  void operator()(const ConvolutionArgs& args, orKernelContext& context) const {
    ConvolutionArrays<C> arrays{args};
    if (arrays.prepare(context)) {
      WeightSum<C>(arrays).run(context);
    }
  }
};

const RegisterTypes<
    "convolution_weight",
    ConvolutionArgs,
    ToWeight,
    int64_t,
    float,
    double,
    Complex<float>,
    Complex<double>>
    kToWeight;

} // namespace

} // namespace openreg::kernels
