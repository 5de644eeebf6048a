// The larger and the smaller of two numbers, and limits.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/BinaryOps.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/ops/clamp_max_native.h>
#include <ATen/ops/clamp_min_native.h>
#include <ATen/ops/clamp_native.h>
#include <ATen/ops/fmax_native.h>
#include <ATen/ops/fmin_native.h>
#include <ATen/ops/maximum_native.h>
#include <ATen/ops/minimum_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_maximum_out>>(m, "maximum");
  implForms<Structured<at::native::structured_minimum_out>>(m, "minimum");
  implForms<Structured<at::native::structured_fmax_out>>(m, "fmax");
  implForms<Structured<at::native::structured_fmin_out>>(m, "fmin");
  implForms<Structured<at::native::structured_clamp_out>>(m, "clamp");
  implForms<Structured<at::native::structured_clamp_max_out>>(m, "clamp_max");
  implForms<Structured<at::native::structured_clamp_Tensor_out>>(m, "clamp", {"Tensor", "Tensor_out"});
  implForms<Structured<at::native::structured_clamp_min_Tensor_out>>(m, "clamp_min", {"Tensor", "Tensor_out"});
  implForms<Structured<at::native::structured_clamp_max_Tensor_out>>(m, "clamp_max", {"Tensor", "Tensor_out"});
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(maximum_stub, &openreg::elementwiseStub<"maximum">)
REGISTER_PRIVATEUSE1_DISPATCH(minimum_stub, &openreg::elementwiseStub<"minimum">)
REGISTER_PRIVATEUSE1_DISPATCH(fmax_stub, &openreg::elementwiseStub<"fmax">)
REGISTER_PRIVATEUSE1_DISPATCH(fmin_stub, &openreg::elementwiseStub<"fmin">)
REGISTER_PRIVATEUSE1_DISPATCH(clamp_stub, &openreg::elementwiseStub<"clamp_tensor">)
REGISTER_PRIVATEUSE1_DISPATCH(clamp_scalar_stub, &openreg::elementwiseStub<"clamp">)
REGISTER_PRIVATEUSE1_DISPATCH(clamp_max_scalar_stub, &openreg::elementwiseStub<"clamp_max">)
} // namespace at::native
