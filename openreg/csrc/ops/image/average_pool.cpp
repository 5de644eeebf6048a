// Pooling by averages over windows.
#include "ops/image/pooling.h"
#include "ops/structured/forms.h"

#include <ATen/ops/avg_pool2d_backward_meta.h>
#include <ATen/ops/avg_pool2d_meta.h>
#include <ATen/ops/avg_pool3d_backward_meta.h>
#include <ATen/ops/avg_pool3d_meta.h>

namespace openreg {
namespace {

/// The arguments that all have in common.
kernels::PoolArgs describe(
    int64_t dims,
    const at::Tensor& image,
    const at::Tensor& result,
    at::IntArrayRef size,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    bool countsPadding,
    std::optional<int64_t> divisor) {
  auto args = describePool(dims, image, result, size, stride, padding, /*dilation=*/1);
  args.countsPadding = countsPadding ? 1 : 0;
  args.divisor = divisor.value_or(0);
  return args;
}

template <class Meta, int64_t dims>
struct AveragePool : Meta {
  void impl(
      const at::Tensor& self,
      at::IntArrayRef size,
      at::IntArrayRef stride,
      at::IntArrayRef padding,
      bool /*ceilMode*/,
      bool countsPadding,
      std::optional<int64_t> divisor,
      const at::Tensor& out) {
    launchPool(
        kernelFamily<"average_pool">, describe(dims, self, out, size, stride, padding, countsPadding, divisor), self,
        out, {});
  }
};

template <class Meta, int64_t dims>
struct AveragePoolBackward : Meta {
  void impl(
      const at::Tensor& gradOutput,
      const at::Tensor& self,
      at::IntArrayRef size,
      at::IntArrayRef stride,
      at::IntArrayRef padding,
      bool /*ceilMode*/,
      bool countsPadding,
      std::optional<int64_t> divisor,
      const at::Tensor& gradInput) {
    const auto args = describe(dims, self, gradOutput, size, stride, padding, countsPadding, divisor);
    launchPoolBackward(kernelFamily<"average_pool_backward">, args, gradInput, gradOutput, {});
  }
};

using AveragePool2d = Structured<AveragePool<at::meta::structured_avg_pool2d, 2>, "avg_pool2d.out">;
using AveragePool3d = Structured<AveragePool<at::meta::structured_avg_pool3d, 3>, "avg_pool3d.out">;
using AveragePool2dBackward =
    Structured<AveragePoolBackward<at::meta::structured_avg_pool2d_backward, 2>, "avg_pool2d_backward.grad_input">;
using AveragePool3dBackward =
    Structured<AveragePoolBackward<at::meta::structured_avg_pool3d_backward, 3>, "avg_pool3d_backward.grad_input">;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<AveragePool2d>(m, "avg_pool2d");
  implForms<AveragePool3d>(m, "avg_pool3d");
  implForms<AveragePool2dBackward>(m, "avg_pool2d_backward", {"", "grad_input"});
  implForms<AveragePool3dBackward>(m, "avg_pool3d_backward", {"", "grad_input"});
}

} // namespace
} // namespace openreg
