// Activation functions.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <ATen/native/Activation.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/_prelu_kernel_native.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/elu_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu_meta.h>
#include <ATen/ops/glu_native.h>
#include <ATen/ops/hardshrink_native.h>
#include <ATen/ops/hardsigmoid_native.h>
#include <ATen/ops/hardswish_native.h>
#include <ATen/ops/hardtanh_native.h>
#include <ATen/ops/leaky_relu_native.h>
#include <ATen/ops/log_sigmoid_forward_native.h>
#include <ATen/ops/logit_native.h>
#include <ATen/ops/mish_native.h>
#include <ATen/ops/silu_native.h>
#include <ATen/ops/softplus_native.h>
#include <ATen/ops/softshrink_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: GELU
// Of PyTorch's own class only the meta function fits: its impl may hand the memory to a library for the CPU.
struct Gelu : at::meta::structured_gelu {
  void impl(const at::Tensor&, std::string_view approximate, const at::Tensor&) {
    const bool isTanh = at::native::get_gelutype_enum(approximate) == at::native::GeluType::Tanh;
    launchElementwise(isTanh ? kernelFamily<"gelu_tanh"> : kernelFamily<"gelu">, *this);
  }
};
// LITERALINCLUDE END: GELU

at::Tensor& logSigmoidInto(const at::Tensor& self, at::Tensor& output) {
  auto iter = at::TensorIterator::unary_op(output, self);
  launchElementwise(kernelFamily<"log_sigmoid">, iter);
  return output;
}

/// What the CPU keeps for the backward pass. Ours computes it anew, but the result is the operator's, and PyTorch's
/// meta function promises it.
at::Tensor& keptOfLogSigmoid(const at::Tensor& self, at::Tensor& buffer) {
  return at::abs_out(buffer, self).neg_().exp_();
}

std::tuple<at::Tensor, at::Tensor> logSigmoidForward(const at::Tensor& self) {
  auto output = at::empty_like(self);
  logSigmoidInto(self, output);
  auto buffer = at::empty_like(self);
  keptOfLogSigmoid(self, buffer);
  return {output, buffer};
}

std::tuple<at::Tensor&, at::Tensor&>
logSigmoidForwardOut(const at::Tensor& self, at::Tensor& output, at::Tensor& buffer) {
  logSigmoidInto(self, output);
  resizeOutput(buffer, self.sizes(), {}, self.options());
  keptOfLogSigmoid(self, buffer);
  return {output, buffer};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_silu_out>>(m, "silu");
  implForms<Structured<at::native::structured_mish_out>>(m, "mish");
  implForms<Structured<at::native::structured_hardsigmoid_out>>(m, "hardsigmoid");
  implForms<Structured<at::native::structured_elu_out>>(m, "elu");
  implForms<Structured<at::native::structured_leaky_relu_out>>(m, "leaky_relu");
  implForms<Structured<at::native::structured_softplus_out>>(m, "softplus");
  implForms<Structured<at::native::structured_hardshrink_out>>(m, "hardshrink");
  implForms<Structured<at::native::structured_softshrink_out>>(m, "softshrink");
  implForms<Structured<at::native::structured_glu_out>>(m, "glu");
  implForms<Structured<Gelu>>(m, "gelu");
  implNative(m, "hardtanh", at::native::hardtanh);
  implNative(m, "hardtanh_", at::native::hardtanh_);
  implNative(m, "hardtanh.out", at::native::hardtanh_out);
  implNative(m, "hardswish", at::native::hardswish);
  implNative(m, "hardswish_", at::native::hardswish_);
  implNative(m, "hardswish.out", at::native::hardswish_out);
  implNative(m, "log_sigmoid_forward", logSigmoidForward);
  implNative(m, "log_sigmoid_forward.output", logSigmoidForwardOut);
  implPlain<"logit", at::native::logit>(m);
  implPlain<"logit_", at::native::logit_>(m);
  implPlain<"logit.out", at::native::logit_out>(m);
  implPlain<"_prelu_kernel", at::native::_prelu_kernel>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(silu_stub, &openreg::elementwiseStub<"silu">)
REGISTER_PRIVATEUSE1_DISPATCH(mish_stub, &openreg::elementwiseStub<"mish">)
REGISTER_PRIVATEUSE1_DISPATCH(hardsigmoid_stub, &openreg::elementwiseStub<"hardsigmoid">)
REGISTER_PRIVATEUSE1_DISPATCH(elu_stub, &openreg::elementwiseStub<"elu">)
REGISTER_PRIVATEUSE1_DISPATCH(leaky_relu_stub, &openreg::elementwiseStub<"leaky_relu">)
REGISTER_PRIVATEUSE1_DISPATCH(softplus_stub, &openreg::elementwiseStub<"softplus">)
REGISTER_PRIVATEUSE1_DISPATCH(hardshrink_stub, &openreg::elementwiseStub<"hardshrink">)
REGISTER_PRIVATEUSE1_DISPATCH(softshrink_stub, &openreg::elementwiseStub<"softshrink">)
REGISTER_PRIVATEUSE1_DISPATCH(glu_stub, &openreg::elementwiseStub<"glu">)
REGISTER_PRIVATEUSE1_DISPATCH(hardswish_stub, &openreg::elementwiseStub<"hardswish">)
REGISTER_PRIVATEUSE1_DISPATCH(logit_stub, &openreg::elementwiseStub<"logit">)
REGISTER_PRIVATEUSE1_DISPATCH(prelu_stub, &openreg::elementwiseStub<"prelu">)
} // namespace at::native
