// The kernel "convolution_image": products of the transposed weight and the results, folded. The gradient of the image,
// and the transposed convolution.
#include <vector>

#include "kernels/image/convolution_arrays.h"
#include "kernels/launch/registry.h"

namespace openreg::kernels {

namespace {

/// image = what weightᵀ × result is when it is folded, + bias.
template <class C>
struct ToImage {
  void operator()(const ConvolutionArgs& args, orKernelContext& context) const {
    ConvolutionArrays<C> arrays{args};
    if (!arrays.prepare(context)) {
      return;
    }
    context.parallelFor(
        &context, args.batch * args.groups * ceilDiv(args.channels, block(arrays)), 1,
        [](void* state, int64_t begin, int64_t end) {
          pieces(*static_cast<const ConvolutionArrays<C>*>(state), begin, end);
        },
        &arrays);
  }

 private:
  static int64_t block(const ConvolutionArrays<C>& arrays) {
    return arrays.block(ceilDiv(kPieces, arrays.args.batch * arrays.args.groups));
  }

  static void pieces(const ConvolutionArrays<C>& arrays, int64_t begin, int64_t end) {
    const ConvolutionArgs& args = arrays.args;
    const int64_t block = ToImage::block(arrays);
    const int64_t blocks = ceilDiv(args.channels, block);
    const int64_t width = arrays.tile(block);
    std::vector<C> panel(static_cast<size_t>(arrays.isPointwise() ? 0 : block * arrays.taps * width));
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t n = piece / blocks / args.groups;
      const int64_t group = piece / blocks % args.groups;
      const int64_t channel = piece % blocks * block;
      const int64_t count = std::min(block, args.channels - channel);
      C* image = arrays.image(n, group, channel);
      for (int64_t i = 0; i < count; ++i) {
        const C value = args.bias != nullptr ? *arrays.bias(group * args.channels + channel + i) : C(0);
        std::fill_n(image + i * arrays.plane, arrays.plane, value);
      }
      for (int64_t first = 0; first < arrays.positions; first += width) {
        const int64_t columns = std::min(width, arrays.positions - first);
        const bool isPointwise = arrays.isPointwise();
        multiply<C>(
            arrays.blas, count * arrays.taps, columns, args.filters, {arrays.weight(group, channel), arrays.rows, true},
            {arrays.result(n, group) + first, arrays.positions, false},
            /*add=*/isPointwise, isPointwise ? image + first : panel.data(), isPointwise ? arrays.plane : columns);
        if (!isPointwise) {
          fold(args.window, image, count, first, first + columns, panel.data(), columns);
        }
      }
    }
  }
};

const RegisterTypes<
    "convolution_image",
    ConvolutionArgs,
    ToImage,
    int64_t,
    float,
    double,
    Complex<float>,
    Complex<double>>
    kToImage;

} // namespace

} // namespace openreg::kernels
