// The kernel "convolution": products of the weight and the unfolded images.
#include <vector>

#include "kernels/image/convolution_arrays.h"
#include "kernels/launch/registry.h"

namespace openreg::kernels {

namespace {

/// result = weight × unfolded image + bias.
template <class C>
struct Forward {
  void operator()(const ConvolutionArgs& args, orKernelContext& context) const {
    ConvolutionArrays<C> arrays{args};
    if (!arrays.prepare(context)) {
      return;
    }
    const int64_t tiles = ceilDiv(arrays.positions, width(arrays));
    context.parallelFor(
        &context, args.batch * args.groups * tiles, 1,
        [](void* state, int64_t begin, int64_t end) {
          pieces(*static_cast<const ConvolutionArrays<C>*>(state), begin, end);
        },
        &arrays);
  }

 private:
  static int64_t width(const ConvolutionArrays<C>& arrays) {
    return arrays.isPointwise() ? std::min(kPanel / arrays.rows + kColumns, arrays.positions)
                                : arrays.tile(arrays.args.channels);
  }

  static void pieces(const ConvolutionArrays<C>& arrays, int64_t begin, int64_t end) {
    const int64_t width = Forward::width(arrays);
    const int64_t tiles = ceilDiv(arrays.positions, width);
    std::vector<C> panel(static_cast<size_t>(arrays.isPointwise() ? 0 : arrays.depth(width) * arrays.taps * width));
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t image = piece / tiles; // of one group
      const int64_t first = piece % tiles * width;
      const int64_t columns = std::min(width, arrays.positions - first);
      addProducts(arrays, image / arrays.args.groups, image % arrays.args.groups, first, columns, panel.data());
    }
  }

  // LITERALINCLUDE START: ADD PRODUCTS
  /// Some columns of the result of one group of an image.
  static void
  addProducts(const ConvolutionArrays<C>& arrays, int64_t n, int64_t group, int64_t first, int64_t columns, C* panel) {
    const ConvolutionArgs& args = arrays.args;
    C* result = arrays.result(n, group) + first;
    bool add = args.bias != nullptr;
    for (int64_t filter = 0; add && filter < args.filters; ++filter) {
      std::fill_n(result + filter * arrays.positions, columns, *arrays.bias(group * args.filters + filter));
    }
    const int64_t depth = arrays.depth(Forward::width(arrays));
    for (int64_t channel = 0; channel < args.channels; channel += depth, add = true) {
      const int64_t count = std::min(depth, args.channels - channel);
      const C* image = arrays.image(n, group, channel);
      Factor<C> unfolded{image + first, arrays.positions, false};
      if (!arrays.isPointwise()) {
        unfold(args.window, image, count, first, first + columns, panel, columns);
        unfolded = {panel, columns, false};
      }
      multiply<C>(
          arrays.blas, args.filters, columns, count * arrays.taps, {arrays.weight(group, channel), arrays.rows, false},
          unfolded, add, result, arrays.positions);
    }
  }
  // LITERALINCLUDE END: ADD PRODUCTS
};

const RegisterTypes<"convolution", ConvolutionArgs, Forward, int64_t, float, double, Complex<float>, Complex<double>>
    kForward;

} // namespace

} // namespace openreg::kernels
