// Convolutions and their gradients, of one to three dimensions.
#include "ops/image/convolution_products.h"
#include "ops/image/window.h"
#include "ops/launch/arrays.h"
#include "ops/launch/count.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <kernels/image/convolution.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <array>
#include <tuple>

namespace openreg {
namespace {

using kernels::ConvolutionArgs;
/// The numbers that say how a window moves.
struct Geometry {
  at::IntArrayRef stride;
  at::IntArrayRef padding;
  at::IntArrayRef dilation;
  int64_t groups;
};

/// A list's number for a dimension; a list of one number is for all.
int64_t at(at::IntArrayRef values, size_t dimension) {
  return values.size() == 1 ? values[0] : values[dimension];
}

/// The shape of what a convolution, transposed or not, makes of an input.
c10::SmallVector<int64_t, 5> outputSize(
    at::IntArrayRef input,
    at::IntArrayRef weight,
    const Geometry& geometry,
    bool transposed,
    at::IntArrayRef outputPadding) {
  c10::SmallVector<int64_t, 5> size = {input[0], transposed ? weight[1] * geometry.groups : weight[0]};
  for (size_t i = 0; i + 2 < input.size(); ++i) {
    const auto reach = at(geometry.dilation, i) * (weight[i + 2] - 1);
    const auto stride = at(geometry.stride, i), padding = 2 * at(geometry.padding, i);
    size.push_back(
        transposed ? (input[i + 2] - 1) * stride - padding + reach + 1 + at(outputPadding, i)
                   : (input[i + 2] + padding - reach - 1) / stride + 1);
  }
  return size;
}

// LITERALINCLUDE START: CONVOLUTION LAUNCHES
/// The three arrays that a convolution relates. A transposed one makes an image out of a result.
ConvolutionArgs
describe(const at::Tensor& image, const at::Tensor& weight, const at::Tensor& result, const Geometry& geometry) {
  ConvolutionArgs args{};
  args.batch = image.size(0);
  args.groups = geometry.groups;
  args.channels = weight.size(1);
  args.filters = weight.size(0) / geometry.groups;
  args.window = describeWindow(
      image.dim() - 2, image.sizes(), result.sizes(), weight.sizes().slice(2), geometry.stride, geometry.padding,
      geometry.dilation);
  checkCount("convolution", "elements of a channel", kernels::product(args.window.image));
  checkCount("convolution", "positions of the window", kernels::product(args.window.result));
  checkCount("convolution", "elements of a filter", args.channels * kernels::product(args.window.size));
  checkCount("convolution", "filters", args.filters);
  return args;
}

/// Whether a device has no kernel, and those that make one: memory for unfolded images is better than a copy to the
/// CPU.
bool isComposed(const KernelFamily& family, const at::Tensor& tensor) {
  return !hasKernel(family, tensor) && hasConvolutionProducts(tensor);
}

/// Writes the result, or the image, out of the other and the weight.
void convolve(
    const at::Tensor& image,
    const at::Tensor& weight,
    const OptionalTensor& bias,
    const at::Tensor& result,
    const Geometry& geometry,
    bool toImage) {
  const auto& target = toImage ? image : result;
  const auto& family = toImage ? kernelFamily<"convolution_image"> : kernelFamily<"convolution">;
  const auto args = describe(image, weight, result, geometry);
  if (isComposed(family, target)) {
    const ContiguousOutput output(target);
    const auto& to = output.tensor();
    toImage ? ConvolutionProducts(args, to, weight.contiguous(), result.contiguous()).toImage(bias)
            : ConvolutionProducts(args, image.contiguous(), weight.contiguous(), to).toResult(bias);
    return output.finish();
  }
  const ArrayOutput output(target);
  launchOverArrays(
      family, target, args,
      {toImage ? writes("image", &ConvolutionArgs::image, output) : reads("image", &ConvolutionArgs::image, image),
       toImage ? reads("result", &ConvolutionArgs::result, result) : writes("result", &ConvolutionArgs::result, output),
       reads("weight", &ConvolutionArgs::weight, weight), reads("bias", &ConvolutionArgs::bias, bias)});
  output.finish();
}

/// Writes the weight's gradient.
void correlate(const at::Tensor& image, const at::Tensor& weight, const at::Tensor& result, const Geometry& geometry) {
  const auto& family = kernelFamily<"convolution_weight">;
  const auto args = describe(image, weight, result, geometry);
  if (isComposed(family, weight)) {
    const ContiguousOutput output(weight);
    ConvolutionProducts(args, image.contiguous(), output.tensor(), result.contiguous()).toWeight();
    return output.finish();
  }
  const ArrayOutput output(weight);
  launchOverArrays(
      family, weight, args,
      {reads("image", &ConvolutionArgs::image, image), reads("result", &ConvolutionArgs::result, result),
       writes("weight", &ConvolutionArgs::weight, output)});
  output.finish();
}
// LITERALINCLUDE END: CONVOLUTION LAUNCHES

void checkTypes(const at::Tensor& input, const at::Tensor& weight, const OptionalTensor& bias) {
  TORCH_CHECK(
      input.dtype() == weight.dtype(), "Input type (", input.toString(), ") and weight type (", weight.toString(),
      ") should be the same");
  TORCH_CHECK(
      !bias.has_value() || !bias->defined() || input.dtype() == bias->dtype(), "Input type (", input.toString(),
      ") and bias type (", bias->toString(), ") should be the same");
}

// LITERALINCLUDE START: CONVOLUTION OVERRIDEABLE
// at::convolution has checked the shapes. For a device outside PyTorch's tree it calls these two names.
at::Tensor convolution(
    const at::Tensor& input,
    const at::Tensor& weight,
    const OptionalTensor& bias,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    bool transposed,
    at::IntArrayRef outputPadding,
    int64_t groups) {
  checkTypes(input, weight, bias);
  const Geometry geometry{stride, padding, dilation, groups};
  const auto size = outputSize(input.sizes(), weight.sizes(), geometry, transposed, outputPadding);
  auto output = at::empty(size, input.options(), at::MemoryFormat::Contiguous);
  if (output.numel() > 0) {
    transposed ? convolve(output, weight, bias, input, geometry, /*toImage=*/true)
               : convolve(input, weight, bias, output, geometry, /*toImage=*/false);
  }
  return output;
}
// LITERALINCLUDE END: CONVOLUTION OVERRIDEABLE

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolutionBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& input,
    const at::Tensor& weight,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    bool transposed,
    at::IntArrayRef /*outputPadding*/,
    int64_t groups,
    std::array<bool, 3> outputMask) {
  checkTypes(input, weight, gradOutput);
  const Geometry geometry{stride, padding, dilation, groups};
  std::array<at::Tensor, 3> grads;
  if (gradOutput.numel() == 0) { // Nothing depends on the arguments.
    grads = {at::zeros_like(input), at::zeros_like(weight), at::zeros({gradOutput.size(1)}, weight.options())};
    return {
        outputMask[0] ? grads[0] : at::Tensor(), outputMask[1] ? grads[1] : at::Tensor(),
        outputMask[2] ? grads[2] : at::Tensor()};
  }
  if (outputMask[0]) {
    grads[0] = at::empty_like(input, at::MemoryFormat::Contiguous);
    transposed ? convolve(gradOutput, weight, {}, grads[0], geometry, /*toImage=*/false)
               : convolve(grads[0], weight, {}, gradOutput, geometry, /*toImage=*/true);
  }
  if (outputMask[1]) {
    grads[1] = at::empty_like(weight, at::MemoryFormat::Contiguous);
    transposed ? correlate(gradOutput, grads[1], input, geometry) : correlate(input, grads[1], gradOutput, geometry);
  }
  if (outputMask[2]) {
    c10::SmallVector<int64_t, 4> all = {0};
    for (int64_t i = 2; i < gradOutput.dim(); ++i) {
      all.push_back(i);
    }
    grads[2] = gradOutput.sum(all);
  }
  return {grads[0], grads[1], grads[2]};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"convolution_overrideable", convolution>(m);
  implPlain<"convolution_backward_overrideable", convolutionBackward>(m);
}

} // namespace
} // namespace openreg
