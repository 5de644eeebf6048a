// Comparisons: eq.
#include "ops/launch/elementwise.h"
#include "ops/structured/structured.h"

#include <ATen/native/BinaryOps.h>
#include <ATen/ops/eq_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

void equalKernel(at::TensorIteratorBase& iter) {
  launchElementwise(kernelFamily<"eq">, iter);
}

using Equal = Structured<at::native::structured_eq_Tensor_out>;
using EqualScalar = Structured<at::native::structured_eq_Scalar_out>;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("eq.Tensor", Equal::functional);
  m.impl("eq_.Tensor", Equal::inplace);
  m.impl("eq.Tensor_out", Equal::out);
  m.impl("eq.Scalar", EqualScalar::functional);
  m.impl("eq_.Scalar", EqualScalar::inplace);
  m.impl("eq.Scalar_out", EqualScalar::out);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(eq_stub, &openreg::equalKernel)
} // namespace at::native
