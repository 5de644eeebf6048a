// Trigonometric and hyperbolic functions.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/UnaryOps.h>
#include <ATen/ops/acos_native.h>
#include <ATen/ops/acosh_native.h>
#include <ATen/ops/asin_native.h>
#include <ATen/ops/asinh_native.h>
#include <ATen/ops/atan_native.h>
#include <ATen/ops/atanh_native.h>
#include <ATen/ops/cos_native.h>
#include <ATen/ops/cosh_native.h>
#include <ATen/ops/sin_native.h>
#include <ATen/ops/sinh_native.h>
#include <ATen/ops/tan_native.h>
#include <ATen/ops/tanh_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_sin_out>>(m, "sin");
  implForms<Structured<at::native::structured_cos_out>>(m, "cos");
  implForms<Structured<at::native::structured_tan_out>>(m, "tan");
  implForms<Structured<at::native::structured_asin_out>>(m, "asin");
  implForms<Structured<at::native::structured_acos_out>>(m, "acos");
  implForms<Structured<at::native::structured_atan_out>>(m, "atan");
  implForms<Structured<at::native::structured_sinh_out>>(m, "sinh");
  implForms<Structured<at::native::structured_cosh_out>>(m, "cosh");
  implForms<Structured<at::native::structured_tanh_out>>(m, "tanh");
  implForms<Structured<at::native::structured_asinh_out>>(m, "asinh");
  implForms<Structured<at::native::structured_acosh_out>>(m, "acosh");
  implForms<Structured<at::native::structured_atanh_out>>(m, "atanh");
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(sin_stub, &openreg::elementwiseStub<"sin">)
REGISTER_PRIVATEUSE1_DISPATCH(cos_stub, &openreg::elementwiseStub<"cos">)
REGISTER_PRIVATEUSE1_DISPATCH(tan_stub, &openreg::elementwiseStub<"tan">)
REGISTER_PRIVATEUSE1_DISPATCH(asin_stub, &openreg::elementwiseStub<"asin">)
REGISTER_PRIVATEUSE1_DISPATCH(acos_stub, &openreg::elementwiseStub<"acos">)
REGISTER_PRIVATEUSE1_DISPATCH(atan_stub, &openreg::elementwiseStub<"atan">)
REGISTER_PRIVATEUSE1_DISPATCH(sinh_stub, &openreg::elementwiseStub<"sinh">)
REGISTER_PRIVATEUSE1_DISPATCH(cosh_stub, &openreg::elementwiseStub<"cosh">)
REGISTER_PRIVATEUSE1_DISPATCH(tanh_stub, &openreg::elementwiseStub<"tanh">)
REGISTER_PRIVATEUSE1_DISPATCH(asinh_stub, &openreg::elementwiseStub<"asinh">)
REGISTER_PRIVATEUSE1_DISPATCH(acosh_stub, &openreg::elementwiseStub<"acosh">)
REGISTER_PRIVATEUSE1_DISPATCH(atanh_stub, &openreg::elementwiseStub<"atanh">)
} // namespace at::native
