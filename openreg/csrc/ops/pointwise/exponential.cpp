// Exponential functions, logarithms and roots.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/UnaryOps.h>
#include <ATen/ops/exp2_native.h>
#include <ATen/ops/exp_native.h>
#include <ATen/ops/expm1_native.h>
#include <ATen/ops/log10_native.h>
#include <ATen/ops/log1p_native.h>
#include <ATen/ops/log2_native.h>
#include <ATen/ops/log_native.h>
#include <ATen/ops/reciprocal_native.h>
#include <ATen/ops/rsqrt_native.h>
#include <ATen/ops/sigmoid_native.h>
#include <ATen/ops/sqrt_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_exp_out>>(m, "exp");
  implForms<Structured<at::native::structured_exp2_out>>(m, "exp2");
  implForms<Structured<at::native::structured_expm1_out>>(m, "expm1");
  implForms<Structured<at::native::structured_log_out>>(m, "log");
  implForms<Structured<at::native::structured_log2_out>>(m, "log2");
  implForms<Structured<at::native::structured_log10_out>>(m, "log10");
  implForms<Structured<at::native::structured_log1p_out>>(m, "log1p");
  implForms<Structured<at::native::structured_sqrt_out>>(m, "sqrt");
  implForms<Structured<at::native::structured_rsqrt_out>>(m, "rsqrt");
  implForms<Structured<at::native::structured_reciprocal_out>>(m, "reciprocal");
  implForms<Structured<at::native::structured_sigmoid_out>>(m, "sigmoid");
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(exp_stub, &openreg::elementwiseStub<"exp">)
REGISTER_PRIVATEUSE1_DISPATCH(exp2_stub, &openreg::elementwiseStub<"exp2">)
REGISTER_PRIVATEUSE1_DISPATCH(expm1_stub, &openreg::elementwiseStub<"expm1">)
REGISTER_PRIVATEUSE1_DISPATCH(log_stub, &openreg::elementwiseStub<"log">)
REGISTER_PRIVATEUSE1_DISPATCH(log2_stub, &openreg::elementwiseStub<"log2">)
REGISTER_PRIVATEUSE1_DISPATCH(log10_stub, &openreg::elementwiseStub<"log10">)
REGISTER_PRIVATEUSE1_DISPATCH(log1p_stub, &openreg::elementwiseStub<"log1p">)
REGISTER_PRIVATEUSE1_DISPATCH(sqrt_stub, &openreg::elementwiseStub<"sqrt">)
REGISTER_PRIVATEUSE1_DISPATCH(rsqrt_stub, &openreg::elementwiseStub<"rsqrt">)
REGISTER_PRIVATEUSE1_DISPATCH(reciprocal_stub, &openreg::elementwiseStub<"reciprocal">)
REGISTER_PRIVATEUSE1_DISPATCH(sigmoid_stub, &openreg::elementwiseStub<"sigmoid">)
} // namespace at::native
