// Division with a whole quotient, and what remains.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/BinaryOps.h>
#include <ATen/ops/div_native.h>
#include <ATen/ops/floor_divide_native.h>
#include <ATen/ops/fmod_native.h>
#include <ATen/ops/remainder_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_div_out_mode>>(m, "div", {"Tensor_mode", "out_mode"});
  implForms<Structured<at::native::structured_remainder_out>>(m, "remainder", {"Tensor", "Tensor_out"});
  implForms<Structured<at::native::structured_fmod_out>>(m, "fmod", {"Tensor", "Tensor_out"});
  implNative(
      m, "floor_divide", static_cast<at::Tensor (*)(const at::Tensor&, const at::Tensor&)>(at::native::floor_divide));
  implNative(
      m, "floor_divide_.Tensor",
      static_cast<at::Tensor& (*)(at::Tensor&, const at::Tensor&)>(at::native::floor_divide_));
  implNative(m, "floor_divide.out", at::native::floor_divide_out);
  implNative(
      m, "remainder.Scalar_Tensor",
      static_cast<at::Tensor (*)(const at::Scalar&, const at::Tensor&)>(at::native::remainder));
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(div_floor_stub, &openreg::elementwiseStub<"div_floor">)
REGISTER_PRIVATEUSE1_DISPATCH(div_trunc_stub, &openreg::elementwiseStub<"div_trunc">)
REGISTER_PRIVATEUSE1_DISPATCH(remainder_stub, &openreg::elementwiseStub<"remainder">)
REGISTER_PRIVATEUSE1_DISPATCH(fmod_stub, &openreg::elementwiseStub<"fmod">)
} // namespace at::native
