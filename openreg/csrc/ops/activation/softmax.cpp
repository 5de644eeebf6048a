// softmax and its derivative.
#include "ops/activation/launch_softmax.h"
#include "ops/structured/forms.h"

#include <ATen/ops/_softmax_backward_data_meta.h>
#include <ATen/ops/_softmax_meta.h>
#include <torch/library.h>

namespace openreg {
namespace {

struct Softmax : at::meta::structured__softmax {
  void impl(const at::Tensor& self, int64_t dim, bool /*halfToFloat*/, const at::Tensor& out) {
    launchSoftmax(kernelFamily<"softmax">, out, self, {}, dim);
  }
};

struct SoftmaxBackward : at::meta::structured__softmax_backward_data {
  void
  impl(const at::Tensor& grad, const at::Tensor& output, int64_t dim, at::ScalarType /*input*/, const at::Tensor& out) {
    launchSoftmax(kernelFamily<"softmax_backward">, out, output, grad, dim);
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<Softmax, "_softmax.out">>(m, "_softmax");
  implForms<Structured<SoftmaxBackward, "_softmax_backward_data.out">>(m, "_softmax_backward_data", {"", "out"});
}

} // namespace
} // namespace openreg
