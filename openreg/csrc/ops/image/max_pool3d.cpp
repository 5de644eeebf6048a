// Pooling by maxima over windows of volumes.
#include "ops/image/pooling.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <ATen/native/Pool.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <tuple>

namespace openreg {
namespace {

// Of three dimensions PyTorch has no structured class: the checks are those of its functions.
void checkNumbers(
    at::IntArrayRef size,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    const at::Tensor& image) {
  const auto isOneOrThree = [](at::IntArrayRef values) { return values.size() == 1 || values.size() == 3; };
  TORCH_CHECK(isOneOrThree(size), "max_pool3d: kernel_size must either be a single int, or a tuple of three ints");
  TORCH_CHECK(
      stride.empty() || isOneOrThree(stride),
      "max_pool3d: stride must either be omitted, a single int, or a tuple of three ints");
  TORCH_CHECK(isOneOrThree(padding), "max_pool3d: padding must either be a single int, or a tuple of three ints");
  TORCH_CHECK(isOneOrThree(dilation), "max_pool3d: dilation must be either a single int, or a tuple of three ints");
  TORCH_CHECK(image.dim() == 4 || image.dim() == 5, "non-empty 4D or 5D (batch mode) tensor expected for input");
}

/// Checks the shapes of a pooling of three dimensions. @return The result's shape.
c10::SmallVector<int64_t, 5> checkShapes3d(
    const at::Tensor& image,
    at::IntArrayRef size,
    at::IntArrayRef strides,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    bool ceilMode) {
  checkNumbers(size, strides, padding, dilation, image);
  const auto window = describeWindow(3, image.sizes(), image.sizes(), size, strides, padding, dilation);
  const auto number = [](int64_t value) { return at::native::safe_downcast<int, int64_t>(value); };
  c10::SmallVector<int64_t, 5> shape(image.sizes().begin(), image.sizes().end() - 3);
  for (int i = 0; i < 3; ++i) {
    shape.push_back(
        at::native::pooling_output_shape<int64_t>(
            window.image[i], window.size[i], window.padding[i], window.stride[i], window.dilation[i], ceilMode));
  }
  const auto* result = shape.end() - 3;
  at::native::pool3d_shape_check(
      image, image.size(-4), number(window.size[0]), number(window.size[1]), number(window.size[2]),
      number(window.stride[0]), number(window.stride[1]), number(window.stride[2]), number(window.padding[0]),
      number(window.padding[1]), number(window.padding[2]), number(window.dilation[0]), number(window.dilation[1]),
      number(window.dilation[2]), window.image[0], window.image[1], window.image[2], result[0], result[1], result[2],
      "max_pool3d_with_indices()");
  return shape;
}

std::tuple<at::Tensor&, at::Tensor&> maxPool3dOut(
    const at::Tensor& self,
    at::IntArrayRef size,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    bool ceilMode,
    at::Tensor& out,
    at::Tensor& indices) {
  const auto shape = checkShapes3d(self, size, stride, padding, dilation, ceilMode);
  resizeOutput(out, shape, {}, self.options());
  resizeOutput(indices, shape, {}, self.options().dtype(at::kLong));
  launchPool(
      kernelFamily<"max_pool">, describeNumberedPool(3, self, out, size, stride, padding, dilation), self, out,
      indices);
  return {out, indices};
}

std::tuple<at::Tensor, at::Tensor> maxPool3d(
    const at::Tensor& self,
    at::IntArrayRef size,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    bool ceilMode) {
  auto out = at::empty({0}, self.options());
  auto indices = at::empty({0}, self.options().dtype(at::kLong));
  maxPool3dOut(self, size, stride, padding, dilation, ceilMode, out, indices);
  return {out, indices};
}

at::Tensor& maxPool3dBackwardOut(
    const at::Tensor& gradOutput,
    const at::Tensor& self,
    at::IntArrayRef size,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    bool ceilMode,
    const at::Tensor& indices,
    at::Tensor& gradInput) {
  const auto shape = checkShapes3d(self, size, stride, padding, dilation, ceilMode);
  TORCH_CHECK(
      gradOutput.sizes() == shape && indices.sizes() == shape,
      "max_pool3d_with_indices_backward(): expected grad_output "
      "and indices of size ",
      at::IntArrayRef(shape), ", but got ", gradOutput.sizes(), " and ", indices.sizes());
  resizeOutput(gradInput, self.sizes(), {}, self.options());
  const auto args = describePool(3, self, gradOutput, size, stride, padding, dilation);
  launchPoolBackward(kernelFamily<"max_pool_backward">, args, gradInput, gradOutput, indices);
  return gradInput;
}

at::Tensor maxPool3dBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& self,
    at::IntArrayRef size,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    bool ceilMode,
    const at::Tensor& indices) {
  auto gradInput = at::empty({0}, self.options());
  return maxPool3dBackwardOut(gradOutput, self, size, stride, padding, dilation, ceilMode, indices, gradInput);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"max_pool3d_with_indices", maxPool3d>(m);
  implPlain<"max_pool3d_with_indices.out", maxPool3dOut>(m);
  implPlain<"max_pool3d_with_indices_backward", maxPool3dBackward>(m);
  implPlain<"max_pool3d_with_indices_backward.grad_input", maxPool3dBackwardOut>(m);
}

} // namespace
} // namespace openreg
