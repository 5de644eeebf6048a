// Gradients of activation functions.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/native/Activation.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/elu_backward_native.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu_backward_meta.h>
#include <ATen/ops/hardshrink_backward_native.h>
#include <ATen/ops/hardsigmoid_backward_native.h>
#include <ATen/ops/hardswish_backward_native.h>
#include <ATen/ops/hardtanh_backward_native.h>
#include <ATen/ops/leaky_relu_backward_native.h>
#include <ATen/ops/logit_backward_native.h>
#include <ATen/ops/mish_backward_native.h>
#include <ATen/ops/sigmoid_backward_native.h>
#include <ATen/ops/silu_backward_native.h>
#include <ATen/ops/softplus_backward_native.h>
#include <ATen/ops/softshrink_backward_native.h>
#include <ATen/ops/tanh_backward_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

// Of PyTorch's own class only the meta function fits: its impl may hand the memory to a library for the CPU.
struct GeluBackward : at::meta::structured_gelu_backward {
  void impl(const at::Tensor&, const at::Tensor&, std::string_view approximate, const at::Tensor&) {
    const bool isTanh = at::native::get_gelutype_enum(approximate) == at::native::GeluType::Tanh;
    launchElementwise(isTanh ? kernelFamily<"gelu_tanh_backward"> : kernelFamily<"gelu_backward">, *this);
  }
};

/// Launches a kernel of two or three inputs into `output`, which may be undefined.
void launchInto(const KernelFamily& kernels, at::Tensor& output, std::initializer_list<at::Tensor> inputs) {
  at::TensorIteratorConfig config;
  config.add_output(output);
  for (const auto& input : inputs) {
    config.add_const_input(input);
  }
  auto iter = config.build();
  launchElementwise(kernels, iter);
  output = iter.output();
}

at::Tensor& logSigmoidBackwardOut(
    const at::Tensor& grad, const at::Tensor& self, const at::Tensor& /*buffer*/, at::Tensor& gradInput) {
  launchInto(kernelFamily<"log_sigmoid_backward">, gradInput, {grad, self});
  return gradInput;
}

at::Tensor logSigmoidBackward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& buffer) {
  at::Tensor gradInput;
  return logSigmoidBackwardOut(grad, self, buffer, gradInput);
}

std::tuple<at::Tensor, at::Tensor>
preluBackward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& weight) {
  at::Tensor gradSelf;
  at::Tensor gradWeight;
  launchInto(kernelFamily<"prelu_backward">, gradSelf, {self, weight, grad});
  launchInto(kernelFamily<"prelu_weight_backward">, gradWeight, {self, grad});
  return {gradSelf, gradWeight};
}

at::Tensor& gluBackwardOut(const at::Tensor& grad, const at::Tensor& self, int64_t dim, at::Tensor& gradInput) {
  TORCH_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
  const auto wrapped = c10::maybe_wrap_dim(dim, self.dim());
  const auto size = self.size(wrapped);
  TORCH_CHECK(size % 2 == 0, "Halving dimension must be even, but dimension ", wrapped, " is size ", size);
  at::native::resize_output(gradInput, self.sizes());
  const auto input = apartFrom(gradInput, self), seed = apartFrom(gradInput, grad); // for the second half
  const auto first = input.narrow(wrapped, 0, size / 2);
  const auto second = input.narrow(wrapped, size / 2, size / 2);
  auto gradFirst = gradInput.narrow(wrapped, 0, size / 2);
  auto gradSecond = gradInput.narrow(wrapped, size / 2, size / 2);
  launchInto(kernelFamily<"glu">, gradFirst, {seed, second});
  launchInto(kernelFamily<"glu_backward">, gradSecond, {seed, first, second});
  return gradInput;
}

at::Tensor gluBackward(const at::Tensor& grad, const at::Tensor& self, int64_t dim) {
  auto gradInput = at::empty_like(self);
  return gluBackwardOut(grad, self, dim, gradInput);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<GeluBackward>>(m, "gelu_backward", {"", "grad_input"});
  implForms<Structured<at::native::structured_silu_backward_out>>(m, "silu_backward", {"", "grad_input"});
  implForms<Structured<at::native::structured_elu_backward_out>>(m, "elu_backward", {"", "grad_input"});
  implForms<Structured<at::native::structured_hardsigmoid_backward_out>>(m, "hardsigmoid_backward", {"", "grad_input"});
  implForms<Structured<at::native::structured_leaky_relu_backward_out>>(m, "leaky_relu_backward", {"", "grad_input"});
  implForms<Structured<at::native::structured_softplus_backward_out>>(m, "softplus_backward", {"", "grad_input"});
  implForms<Structured<at::native::structured_hardshrink_backward_out>>(m, "hardshrink_backward", {"", "grad_input"});
  implForms<Structured<at::native::structured_softshrink_backward_out>>(m, "softshrink_backward", {"", "grad_input"});
  implForms<Structured<at::native::structured_sigmoid_backward_out>>(m, "sigmoid_backward", {"", "grad_input"});
  implForms<Structured<at::native::structured_tanh_backward_out>>(m, "tanh_backward", {"", "grad_input"});
  implForms<Structured<at::native::structured_logit_backward_out>>(m, "logit_backward", {"", "grad_input"});
  implPlain<"hardtanh_backward", at::native::hardtanh_backward>(m);
  implPlain<"hardtanh_backward.grad_input", at::native::hardtanh_backward_out>(m);
  implPlain<"hardswish_backward", at::native::hardswish_backward>(m);
  implPlain<"mish_backward", at::native::mish_backward>(m);
  implPlain<"log_sigmoid_backward", logSigmoidBackward>(m);
  implPlain<"log_sigmoid_backward.grad_input", logSigmoidBackwardOut>(m);
  implPlain<"_prelu_kernel_backward", preluBackward>(m);
  implPlain<"glu_backward", gluBackward>(m);
  implPlain<"glu_backward.grad_input", gluBackwardOut>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(shrink_backward_stub, &openreg::elementwiseStub<"shrink_backward">)
REGISTER_PRIVATEUSE1_DISPATCH(hardtanh_backward_stub, &openreg::elementwiseStub<"hardtanh_backward">)
REGISTER_PRIVATEUSE1_DISPATCH(hardswish_backward_stub, &openreg::elementwiseStub<"hardswish_backward">)
REGISTER_PRIVATEUSE1_DISPATCH(mish_backward_stub, &openreg::elementwiseStub<"mish_backward">)
REGISTER_PRIVATEUSE1_DISPATCH(silu_backward_stub, &openreg::elementwiseStub<"silu_backward">)
REGISTER_PRIVATEUSE1_DISPATCH(elu_backward_stub, &openreg::elementwiseStub<"elu_backward">)
REGISTER_PRIVATEUSE1_DISPATCH(hardsigmoid_backward_stub, &openreg::elementwiseStub<"hardsigmoid_backward">)
REGISTER_PRIVATEUSE1_DISPATCH(leaky_relu_backward_stub, &openreg::elementwiseStub<"leaky_relu_backward">)
REGISTER_PRIVATEUSE1_DISPATCH(softplus_backward_stub, &openreg::elementwiseStub<"softplus_backward">)
REGISTER_PRIVATEUSE1_DISPATCH(sigmoid_backward_stub, &openreg::elementwiseStub<"sigmoid_backward">)
REGISTER_PRIVATEUSE1_DISPATCH(tanh_backward_stub, &openreg::elementwiseStub<"tanh_backward">)
REGISTER_PRIVATEUSE1_DISPATCH(logit_backward_stub, &openreg::elementwiseStub<"logit_backward">)
} // namespace at::native
