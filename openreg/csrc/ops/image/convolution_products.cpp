// Convolutions as products of matrices.
#include "ops/image/convolution_products.h"

#include "ops/image/unfold.h"
#include "ops/launch/arrays.h"
#include "ops/linalg/gemm.h"

#include <kernels/image/im2col.h>

#include <ATen/ops/empty.h>

#include <algorithm>

namespace openreg {
namespace {

using kernels::ConvolutionArgs;
using kernels::UnfoldArgs;

constexpr int64_t kUnfolded = int64_t{64} << 20; // elements of unfolded images that are in memory at a time

/// Images, and their matrices: images × groups × rows × columns, with columns side by side.
UnfoldArgs describe(const ConvolutionArgs& args, const at::Tensor& matrix) {
  UnfoldArgs unfold{};
  unfold.images = matrix.size(0);
  unfold.planes = args.groups * args.channels;
  unfold.imageStride = matrix.stride(0);
  unfold.rowStride = matrix.stride(2);
  unfold.window = args.window;
  return unfold;
}

/// Halves are added up as floats.
void fold(const ConvolutionArgs& args, const at::Tensor& matrix, const at::Tensor& images) {
  const ArrayOutput output(images);
  launchOverArrays(
      kernelFamily<"fold">, images, describe(args, matrix),
      {writes("image", &UnfoldArgs::image, output), reads("matrix", &UnfoldArgs::matrix, matrix)});
  output.finish();
}

/// out = a × b for matrices in two dimensions of batches. A launch takes one dimension: there are as many as the
/// smaller of the two is long.
void multiply(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  const int64_t dim = out.size(0) <= out.size(1) ? 0 : 1;
  for (int64_t i = 0; i < out.size(dim); ++i) {
    multiplyMatrices(out.select(dim, i), a.select(dim, i), b.select(dim, i), 0, 1);
  }
}

/// Adds a number for each channel to images, if there are any.
void addBias(const at::Tensor& images, const std::optional<at::Tensor>& bias) {
  if (bias.has_value() && bias->defined()) {
    images.add_(bias->view({1, images.size(1), images.size(2), 1}));
  }
}

} // namespace

bool hasConvolutionProducts(const at::Tensor& tensor) {
  return kernel<"unfold">.find(tensor.device().index()) != nullptr && hasKernel(kernelFamily<"fold">, tensor) &&
         hasKernel(kernelFamily<"gemm">, tensor);
}

ConvolutionProducts::ConvolutionProducts(
    const ConvolutionArgs& args, const at::Tensor& image, const at::Tensor& weight, const at::Tensor& result)
    : args_(args), isPointwise_(kernels::isPointwise(args.window)),
      image_(image.view({args.batch, args.groups, args.channels, kernels::product(args.window.image)})),
      weight_(weight.view({args.groups, args.filters, args.channels * kernels::product(args.window.size)})),
      result_(result.view({args.batch, args.groups, args.filters, kernels::product(args.window.result)})) {}

template <class Use>
void ConvolutionProducts::forEachPart(Use use) const {
  const auto each = args_.groups * weight_.size(2) * result_.size(3); // elements of an unfolded image
  const auto most = std::max(kUnfolded / std::max(each, int64_t{1}), int64_t{1});
  for (int64_t first = 0; first < args_.batch; first += most) {
    use(first, std::min(most, args_.batch - first));
  }
}

// LITERALINCLUDE START: CONVOLUTION PRODUCTS
void ConvolutionProducts::toResult(const std::optional<at::Tensor>& bias) const {
  forEachPart([&](int64_t first, int64_t count) {
    auto matrix = image_.narrow(0, first, count);
    if (!isPointwise_) {
      const auto images = matrix;
      matrix = at::empty({count, args_.groups, weight_.size(2), result_.size(3)}, image_.options());
      launchUnfold(describe(args_, matrix), images, matrix);
    }
    const auto weights = weight_.unsqueeze(0).expand({count, -1, -1, -1});
    multiply(result_.narrow(0, first, count), weights, matrix);
  });
  addBias(result_, bias);
}

void ConvolutionProducts::toImage(const std::optional<at::Tensor>& bias) const {
  forEachPart([&](int64_t first, int64_t count) {
    const auto images = image_.narrow(0, first, count);
    const auto weights = weight_.mT().unsqueeze(0).expand({count, -1, -1, -1});
    const auto results = result_.narrow(0, first, count);
    if (isPointwise_) {
      multiply(images, weights, results);
    } else {
      const auto matrix = at::empty({count, args_.groups, weight_.size(2), result_.size(3)}, image_.options());
      multiply(matrix, weights, results);
      fold(args_, matrix, images);
    }
  });
  addBias(image_, bias);
}

void ConvolutionProducts::toWeight() const {
  forEachPart([&](int64_t first, int64_t count) {
    // The images of a part side by side: then a group's sum over all of them is one product.
    const auto sideBySide = [](const at::Tensor& images) { return images.permute({1, 2, 0, 3}).flatten(2); };
    at::Tensor matrix;
    if (isPointwise_) {
      matrix = sideBySide(image_.narrow(0, first, count));
    } else {
      matrix = at::empty({args_.groups, weight_.size(2), count * result_.size(3)}, image_.options());
      const auto byImage = matrix.view({args_.groups, weight_.size(2), count, result_.size(3)}).permute({2, 0, 1, 3});
      launchUnfold(describe(args_, byImage), image_.narrow(0, first, count), byImage);
    }
    multiplyMatrices(weight_, sideBySide(result_.narrow(0, first, count)), matrix.mT(), first == 0 ? 0 : 1, 1);
  });
}
// LITERALINCLUDE END: CONVOLUTION PRODUCTS

} // namespace openreg
