// Which of two numbers is larger, and whether they differ.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/BinaryOps.h>
#include <ATen/ops/ge_native.h>
#include <ATen/ops/gt_native.h>
#include <ATen/ops/le_native.h>
#include <ATen/ops/lt_native.h>
#include <ATen/ops/ne_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_ne_Tensor_out>>(m, "ne", {"Tensor", "Tensor_out"});
  implForms<Structured<at::native::structured_ne_Scalar_out>>(m, "ne", {"Scalar", "Scalar_out"});
  implForms<Structured<at::native::structured_lt_Tensor_out>>(m, "lt", {"Tensor", "Tensor_out"});
  implForms<Structured<at::native::structured_lt_Scalar_out>>(m, "lt", {"Scalar", "Scalar_out"});
  implForms<Structured<at::native::structured_le_Tensor_out>>(m, "le", {"Tensor", "Tensor_out"});
  implForms<Structured<at::native::structured_le_Scalar_out>>(m, "le", {"Scalar", "Scalar_out"});
  implForms<Structured<at::native::structured_gt_Tensor_out>>(m, "gt", {"Tensor", "Tensor_out"});
  implForms<Structured<at::native::structured_gt_Scalar_out>>(m, "gt", {"Scalar", "Scalar_out"});
  implForms<Structured<at::native::structured_ge_Tensor_out>>(m, "ge", {"Tensor", "Tensor_out"});
  implForms<Structured<at::native::structured_ge_Scalar_out>>(m, "ge", {"Scalar", "Scalar_out"});
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(ne_stub, &openreg::elementwiseStub<"ne">)
REGISTER_PRIVATEUSE1_DISPATCH(lt_stub, &openreg::elementwiseStub<"lt">)
REGISTER_PRIVATEUSE1_DISPATCH(le_stub, &openreg::elementwiseStub<"le">)
REGISTER_PRIVATEUSE1_DISPATCH(gt_stub, &openreg::elementwiseStub<"gt">)
REGISTER_PRIVATEUSE1_DISPATCH(ge_stub, &openreg::elementwiseStub<"ge">)
} // namespace at::native
