// Pooling to a size, by maxima.
#include "ops/image/pooling.h"
#include "ops/structured/forms.h"

#include <ATen/ops/adaptive_max_pool2d_backward_meta.h>
#include <ATen/ops/adaptive_max_pool2d_meta.h>
#include <ATen/ops/adaptive_max_pool3d_backward_meta.h>
#include <ATen/ops/adaptive_max_pool3d_meta.h>

namespace openreg {
namespace {

template <class Meta, int64_t dims>
struct MaxPool : Meta {
  void impl(const at::Tensor& self, at::IntArrayRef /*size*/, const at::Tensor& out, const at::Tensor& indices) {
    launchPool(kernelFamily<"adaptive_max_pool">, describeAdaptivePool(dims, self, out), self, out, indices);
  }
};

template <class Meta, int64_t dims>
struct MaxPoolBackward : Meta {
  void
  impl(const at::Tensor& gradOutput, const at::Tensor& self, const at::Tensor& indices, const at::Tensor& gradInput) {
    launchPoolBackward(
        kernelFamily<"adaptive_max_pool_backward">, describeAdaptivePool(dims, self, gradOutput), gradInput, gradOutput,
        indices);
  }
};

using AdaptiveMaxPool2d =
    Structured<MaxPool<at::meta::structured_adaptive_max_pool2d, 2>, "adaptive_max_pool2d.out", 2>;
using AdaptiveMaxPool3d =
    Structured<MaxPool<at::meta::structured_adaptive_max_pool3d, 3>, "adaptive_max_pool3d.out", 2>;
using AdaptiveMaxPool2dBackward = Structured<
    MaxPoolBackward<at::meta::structured_adaptive_max_pool2d_backward, 2>,
    "adaptive_max_pool2d_backward.grad_input">;
using AdaptiveMaxPool3dBackward = Structured<
    MaxPoolBackward<at::meta::structured_adaptive_max_pool3d_backward, 3>,
    "adaptive_max_pool3d_backward.grad_input">;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<AdaptiveMaxPool2d>(m, "adaptive_max_pool2d");
  implForms<AdaptiveMaxPool3d>(m, "adaptive_max_pool3d");
  implForms<AdaptiveMaxPool2dBackward>(m, "adaptive_max_pool2d_backward", {"", "grad_input"});
  implForms<AdaptiveMaxPool3dBackward>(m, "adaptive_max_pool3d_backward", {"", "grad_input"});
}

} // namespace
} // namespace openreg
