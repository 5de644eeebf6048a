// Pooling by maxima over windows of images.
#include "ops/image/pooling.h"
#include "ops/structured/forms.h"

#include <ATen/ops/max_pool2d_with_indices_backward_meta.h>
#include <ATen/ops/max_pool2d_with_indices_meta.h>

namespace openreg {
namespace {

struct MaxPool2d : at::meta::structured_max_pool2d_with_indices {
  void impl(
      const at::Tensor& self,
      at::IntArrayRef size,
      at::IntArrayRef stride,
      at::IntArrayRef padding,
      at::IntArrayRef dilation,
      bool /*ceilMode*/,
      const at::Tensor& out,
      const at::Tensor& indices) {
    launchPool(
        kernelFamily<"max_pool">, describeNumberedPool(2, self, out, size, stride, padding, dilation), self, out,
        indices);
  }
};

struct MaxPool2dBackward : at::meta::structured_max_pool2d_with_indices_backward {
  void impl(
      const at::Tensor& gradOutput,
      const at::Tensor& self,
      at::IntArrayRef size,
      at::IntArrayRef stride,
      at::IntArrayRef padding,
      at::IntArrayRef dilation,
      bool /*ceilMode*/,
      const at::Tensor& indices,
      const at::Tensor& gradInput) {
    const auto args = describePool(2, self, gradOutput, size, stride, padding, dilation);
    launchPoolBackward(kernelFamily<"max_pool_backward">, args, gradInput, gradOutput, indices);
  }
};

using NumberedMaxPool2d = Structured<MaxPool2d, "max_pool2d_with_indices.out", 2>;
using NumberedMaxPool2dBackward = Structured<MaxPool2dBackward, "max_pool2d_with_indices_backward.grad_input">;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<NumberedMaxPool2d>(m, "max_pool2d_with_indices");
  implForms<NumberedMaxPool2dBackward>(m, "max_pool2d_with_indices_backward", {"", "grad_input"});
}

} // namespace
} // namespace openreg
