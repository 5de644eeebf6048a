// eq: whether two numbers are equal.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/BinaryOps.h>
#include <ATen/ops/eq_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_eq_Tensor_out>>(m, "eq", {"Tensor", "Tensor_out"});
  implForms<Structured<at::native::structured_eq_Scalar_out>>(m, "eq", {"Scalar", "Scalar_out"});
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(eq_stub, &openreg::elementwiseStub<"eq">)
} // namespace at::native
