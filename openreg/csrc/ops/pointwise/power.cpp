// Powers.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/Pow.h>
#include <ATen/ops/pow_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

/// The powers that training is full of are functions of their own, and much faster than the general one.
const KernelFamily* commonPower(double exponent, bool isFloating) {
  if (exponent == 2.0 || exponent == 3.0) {
    return exponent == 2.0 ? &kernelFamily<"square"> : &kernelFamily<"cube">;
  }
  if (isFloating && (exponent == 0.5 || exponent == -0.5 || exponent == -1.0)) {
    return exponent == 0.5 ? &kernelFamily<"sqrt">
                           : (exponent == -0.5 ? &kernelFamily<"rsqrt"> : &kernelFamily<"reciprocal">);
  }
  return nullptr;
}

void powerOfKernel(at::TensorIteratorBase& iter, const c10::Scalar& exponent) {
  const auto type = iter.common_dtype();
  const auto* common =
      exponent.isComplex() ? nullptr : commonPower(exponent.to<double>(), !c10::isIntegralType(type, true));
  if (common != nullptr) {
    launchElementwise(*common, iter);
  } else {
    launchElementwise(kernelFamily<"pow_scalar">, iter, {exponent});
  }
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_pow_Tensor_Tensor_out>>(m, "pow", {"Tensor_Tensor", "Tensor_Tensor_out"});
  implForms<Structured<at::native::structured_pow_Tensor_Scalar_out>>(m, "pow", {"Tensor_Scalar", "Tensor_Scalar_out"});
  implForms<Structured<at::native::structured_pow_Scalar_out, "pow.Scalar_out">>(m, "pow", {"Scalar", "Scalar_out"});
  implNative(m, "pow_.Scalar", Structured<at::native::structured_pow_Tensor_Scalar_out>::inplace);
  implNative(m, "pow_.Tensor", Structured<at::native::structured_pow_Tensor_Tensor_out>::inplace);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(pow_tensor_tensor_stub, &openreg::elementwiseStub<"pow">)
REGISTER_PRIVATEUSE1_DISPATCH(pow_tensor_scalar_stub, &openreg::powerOfKernel)
} // namespace at::native
