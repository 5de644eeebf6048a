// Further functions of two numbers.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/BinaryOps.h>
#include <ATen/ops/atan2_native.h>
#include <ATen/ops/copysign_native.h>
#include <ATen/ops/gcd_native.h>
#include <ATen/ops/heaviside_native.h>
#include <ATen/ops/hypot_native.h>
#include <ATen/ops/lcm_native.h>
#include <ATen/ops/logaddexp2_native.h>
#include <ATen/ops/logaddexp_native.h>
#include <ATen/ops/special_xlog1py_native.h>
#include <ATen/ops/xlogy_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_atan2_out>>(m, "atan2");
  implForms<Structured<at::native::structured_hypot_out>>(m, "hypot");
  implForms<Structured<at::native::structured_copysign_out>>(m, "copysign", {"Tensor", "out"});
  implForms<Structured<at::native::structured_logaddexp_out>>(m, "logaddexp");
  implForms<Structured<at::native::structured_logaddexp2_out>>(m, "logaddexp2");
  implForms<Structured<at::native::structured_xlogy_out>>(m, "xlogy", {"Tensor", "OutTensor"});
  implForms<Structured<at::native::structured_special_xlog1py_out>>(m, "special_xlog1py");
  implForms<Structured<at::native::structured_heaviside_out>>(m, "heaviside");
  implForms<Structured<at::native::structured_gcd_out>>(m, "gcd");
  implForms<Structured<at::native::structured_lcm_out>>(m, "lcm");
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(atan2_stub, &openreg::elementwiseStub<"atan2">)
REGISTER_PRIVATEUSE1_DISPATCH(hypot_stub, &openreg::elementwiseStub<"hypot">)
REGISTER_PRIVATEUSE1_DISPATCH(copysign_stub, &openreg::elementwiseStub<"copysign">)
REGISTER_PRIVATEUSE1_DISPATCH(logaddexp_stub, &openreg::elementwiseStub<"logaddexp">)
REGISTER_PRIVATEUSE1_DISPATCH(logaddexp2_stub, &openreg::elementwiseStub<"logaddexp2">)
REGISTER_PRIVATEUSE1_DISPATCH(xlogy_stub, &openreg::elementwiseStub<"xlogy">)
REGISTER_PRIVATEUSE1_DISPATCH(xlog1py_stub, &openreg::elementwiseStub<"special_xlog1py">)
REGISTER_PRIVATEUSE1_DISPATCH(heaviside_stub, &openreg::elementwiseStub<"heaviside">)
REGISTER_PRIVATEUSE1_DISPATCH(gcd_stub, &openreg::elementwiseStub<"gcd">)
REGISTER_PRIVATEUSE1_DISPATCH(lcm_stub, &openreg::elementwiseStub<"lcm">)
} // namespace at::native
