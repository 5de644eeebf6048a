// Arithmetic of three operands, lerp, addcmul and addcdiv; and rsub.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/Lerp.h>
#include <ATen/native/PointwiseOps.h>
#include <ATen/ops/addcdiv_native.h>
#include <ATen/ops/addcmul_native.h>
#include <ATen/ops/lerp_native.h>
#include <ATen/ops/rsub_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_lerp_Scalar>>(m, "lerp", {"Scalar", "Scalar_out"});
  implForms<Structured<at::native::structured_lerp_Tensor>>(m, "lerp", {"Tensor", "Tensor_out"});
  implForms<Structured<at::native::structured_addcmul_out>>(m, "addcmul");
  implForms<Structured<at::native::structured_addcdiv_out>>(m, "addcdiv");
  implNative(
      m, "rsub.Tensor",
      static_cast<at::Tensor (*)(const at::Tensor&, const at::Tensor&, const at::Scalar&)>(at::native::rsub));
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(lerp_kernel_scalar_weight, &openreg::elementwiseStub<"lerp_scalar">)
REGISTER_PRIVATEUSE1_DISPATCH(lerp_kernel_tensor_weight, &openreg::elementwiseStub<"lerp_tensor">)
REGISTER_PRIVATEUSE1_DISPATCH(addcmul_stub, &openreg::elementwiseStub<"addcmul">)
REGISTER_PRIVATEUSE1_DISPATCH(addcdiv_stub, &openreg::elementwiseStub<"addcdiv">)
} // namespace at::native
