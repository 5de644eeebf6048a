// Pooling to a size, by maxima.
#include "ops/image/pooling.h"
#include "ops/structured/forms.h"

#include <ATen/ops/adaptive_max_pool2d_backward_meta.h>
#include <ATen/ops/adaptive_max_pool2d_meta.h>
#include <ATen/ops/adaptive_max_pool3d_backward_meta.h>
#include <ATen/ops/adaptive_max_pool3d_meta.h>

namespace openreg {
namespace {

const KernelFamily kMaxPool("adaptive_max_pool");
const KernelFamily kMaxPoolBackward("max_pool_backward");

template <class Meta, int64_t dims>
struct MaxPool : Meta {
  void impl(const at::Tensor& self, at::IntArrayRef /*size*/, const at::Tensor& out, const at::Tensor& indices) {
    launchPool(kMaxPool, describeAdaptivePool(dims, self, out), self, out, indices);
  }
};

template <class Meta, int64_t dims>
struct MaxPoolBackward : Meta {
  void
  impl(const at::Tensor& gradOutput, const at::Tensor& self, const at::Tensor& indices, const at::Tensor& gradInput) {
    // The kernel looks at the indices only, so any window will do.
    const auto args = describePool(dims, self, gradOutput, 1, 1, 0, 1);
    launchPoolBackward(kMaxPoolBackward, args, gradInput, gradOutput, indices);
  }
};

using MaxPool2d = Structured<MaxPool<at::meta::structured_adaptive_max_pool2d, 2>, "aten::adaptive_max_pool2d.out", 2>;
using MaxPool3d = Structured<MaxPool<at::meta::structured_adaptive_max_pool3d, 3>, "aten::adaptive_max_pool3d.out", 2>;
using MaxPool2dBackward = Structured<
    MaxPoolBackward<at::meta::structured_adaptive_max_pool2d_backward, 2>,
    "aten::adaptive_max_pool2d_backward.grad_input">;
using MaxPool3dBackward = Structured<
    MaxPoolBackward<at::meta::structured_adaptive_max_pool3d_backward, 3>,
    "aten::adaptive_max_pool3d_backward.grad_input">;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<MaxPool2d>(m, "adaptive_max_pool2d");
  implForms<MaxPool3d>(m, "adaptive_max_pool3d");
  implForms<MaxPool2dBackward>(m, "adaptive_max_pool2d_backward", {"", "grad_input"});
  implForms<MaxPool3dBackward>(m, "adaptive_max_pool3d_backward", {"", "grad_input"});
}

} // namespace
} // namespace openreg
