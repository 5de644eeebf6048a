// log_softmax and its derivative.
#include "ops/activation/launch_softmax.h"
#include "ops/structured/forms.h"

#include <ATen/ops/_log_softmax_backward_data_meta.h>
#include <ATen/ops/_log_softmax_meta.h>
#include <torch/library.h>

namespace openreg {
namespace {

struct LogSoftmax : at::meta::structured__log_softmax {
  void impl(const at::Tensor& self, int64_t dim, bool /*half_to_float*/, const at::Tensor& out) {
    launchSoftmax(kernelFamily<"log_softmax">, out, self, {}, dim);
  }
};

struct LogSoftmaxBackward : at::meta::structured__log_softmax_backward_data {
  void
  impl(const at::Tensor& grad, const at::Tensor& output, int64_t dim, at::ScalarType /*input*/, const at::Tensor& out) {
    launchSoftmax(kernelFamily<"log_softmax_backward">, out, output, grad, dim);
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<LogSoftmax, "_log_softmax.out">>(m, "_log_softmax");
  implForms<Structured<LogSoftmaxBackward, "_log_softmax_backward_data.out">>(m, "_log_softmax_backward_data");
}

} // namespace
} // namespace openreg
