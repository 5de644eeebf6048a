// Pooling to a size, by averages.
#include "ops/image/pooling.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <ATen/native/AdaptivePooling.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <string>

namespace openreg {
namespace {

/// "adaptive_avg_pool2d" or "adaptive_avg_pool3d".
template <int64_t dims>
constexpr const char* kName = dims == 2 ? "adaptive_avg_pool2d" : "adaptive_avg_pool3d";

// Of averages PyTorch has no structured classes: the checks are those of its functions.
template <int64_t dims>
at::Tensor& averagePoolOut(const at::Tensor& self, at::IntArrayRef size, at::Tensor& out) {
  TORCH_CHECK(static_cast<int64_t>(size.size()) == dims, kName<dims>, ": output_size must be ", dims);
  TORCH_CHECK(
      self.dim() == dims + 1 || self.dim() == dims + 2, kName<dims>, "(): Expected ", dims + 1, "D or ", dims + 2,
      "D tensor, but got ", self.sizes());
  for (int64_t i = -dims; i < 0; ++i) {
    TORCH_CHECK(
        self.size(i) > 0, kName<dims>,
        "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ", self.sizes(),
        " with dimension ", i + self.dim(), " being empty");
  }
  TORCH_CHECK(
      self.dtype() == out.dtype(), "expected dtype ", self.dtype(), " for `output` but got dtype ", out.dtype());
  c10::SmallVector<int64_t, 5> shape(self.sizes().begin(), self.sizes().end() - dims);
  shape.append(size.begin(), size.end());
  resizeOutput(out, shape, {}, self.options());
  launchPool(kernelFamily<"adaptive_average_pool">, describeAdaptivePool(dims, self, out), self, out, {});
  return out;
}

template <int64_t dims>
at::Tensor averagePool(const at::Tensor& self, at::IntArrayRef size) {
  auto out = at::empty({0}, self.options());
  return averagePoolOut<dims>(self, size, out);
}

template <int64_t dims>
at::Tensor& averagePoolBackwardOut(const at::Tensor& gradOutput, const at::Tensor& self, at::Tensor& gradInput) {
  static const std::string name = std::string(kName<dims>) + "_backward";
  at::native::adaptive_pool_empty_output_check(gradOutput, name.c_str());
  TORCH_CHECK(
      self.dim() == gradOutput.dim(), name, ": Expected dimensions ", self.dim(),
      " for `grad_output` but got dimensions ", gradOutput.dim());
  TORCH_CHECK(
      self.dim() == dims + 1 || self.dim() == dims + 2, name, "(): Expected ", dims + 1, "D or ", dims + 2,
      "D tensor, but got ", self.sizes());
  TORCH_CHECK(
      self.sizes().slice(0, self.dim() - dims) == gradOutput.sizes().slice(0, self.dim() - dims), name,
      ": Expected grad_output of as many images and channels as the input of sizes ", self.sizes(), ", but got ",
      gradOutput.sizes());
  TORCH_CHECK(
      self.dtype() == gradOutput.dtype(), name, ": Expected dtype ", self.dtype(), " for `grad_output` but got dtype ",
      gradOutput.dtype());
  resizeOutput(gradInput, self.sizes(), {}, self.options());
  launchPoolBackward(
      kernelFamily<"adaptive_average_pool_backward">, describeAdaptivePool(dims, self, gradOutput), gradInput,
      gradOutput, {});
  return gradInput;
}

template <int64_t dims>
at::Tensor averagePoolBackward(const at::Tensor& gradOutput, const at::Tensor& self) {
  auto gradInput = at::empty({0}, self.options());
  return averagePoolBackwardOut<dims>(gradOutput, self, gradInput);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"adaptive_avg_pool2d.out", averagePoolOut<2>>(m);
  implPlain<"adaptive_avg_pool3d.out", averagePoolOut<3>>(m);
  implPlain<"_adaptive_avg_pool2d", averagePool<2>>(m);
  implPlain<"_adaptive_avg_pool3d", averagePool<3>>(m);
  implPlain<"_adaptive_avg_pool2d_backward", averagePoolBackward<2>>(m);
  implPlain<"_adaptive_avg_pool3d_backward", averagePoolBackward<3>>(m);
  implPlain<"adaptive_avg_pool3d_backward.grad_input", averagePoolBackwardOut<3>>(m);
}

} // namespace
} // namespace openreg
