// log_softmax and its derivative.
#include "ops/activation/launch_softmax.h"
#include "ops/structured/structured.h"

#include <ATen/ops/_log_softmax_backward_data_meta.h>
#include <ATen/ops/_log_softmax_meta.h>
#include <torch/library.h>

namespace openreg {
namespace {

struct LogSoftmaxImpl : at::meta::structured__log_softmax {
  void impl(const at::Tensor& self, int64_t dim, bool /*half_to_float*/, const at::Tensor& out) {
    launchSoftmax(kernelFamily<"log_softmax">, out, self, {}, dim);
  }
};

struct LogSoftmaxBackwardImpl : at::meta::structured__log_softmax_backward_data {
  void
  impl(const at::Tensor& grad, const at::Tensor& output, int64_t dim, at::ScalarType /*input*/, const at::Tensor& out) {
    launchSoftmax(kernelFamily<"log_softmax_backward">, out, output, grad, dim);
  }
};

using LogSoftmax = Structured<LogSoftmaxImpl, "_log_softmax.out">;
using LogSoftmaxBackward = Structured<LogSoftmaxBackwardImpl, "_log_softmax_backward_data.out">;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_log_softmax", LogSoftmax::functional);
  m.impl("_log_softmax.out", LogSoftmax::out);
  m.impl("_log_softmax_backward_data", LogSoftmaxBackward::functional);
  m.impl("_log_softmax_backward_data.out", LogSoftmaxBackward::out);
}

} // namespace
} // namespace openreg
