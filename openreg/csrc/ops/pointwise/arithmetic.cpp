// Arithmetic: add, sub, mul, div and neg in all their forms.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/OpMathType.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/add_native.h>
#include <ATen/ops/div_native.h>
#include <ATen/ops/mul_native.h>
#include <ATen/ops/neg_native.h>
#include <ATen/ops/sub_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: ARITHMETIC KERNELS
// In the type that sums and products of the common type are computed in, so that a scalar is not rounded to half first.
c10::ScalarType computeType(const at::TensorIteratorBase& iter) {
  return at::toOpMathType(iter.common_dtype());
}
void addKernel(at::TensorIteratorBase& iter, const c10::Scalar& alpha) {
  launchElementwise(kernelFamily<"add">, iter, computeType(iter), {alpha});
}
void multiplyKernel(at::TensorIteratorBase& iter) {
  launchElementwise(kernelFamily<"mul">, iter, computeType(iter));
}
void divideKernel(at::TensorIteratorBase& iter) {
  launchElementwise(kernelFamily<"div">, iter, computeType(iter));
}
// LITERALINCLUDE END: ARITHMETIC KERNELS

// LITERALINCLUDE START: REGISTER ARITHMETIC
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using namespace at::native;
  implForms<Structured<structured_ufunc_add_CPU>>(m, "add", {"Tensor", "out"});
  implForms<Structured<structured_sub_out>>(m, "sub", {"Tensor", "out"}); // its impl is add's stub with -alpha
  implForms<Structured<structured_mul_out>>(m, "mul", {"Tensor", "out"});
  implForms<Structured<structured_div_out>>(m, "div", {"Tensor", "out"});
  implForms<Structured<structured_neg_out>>(m, "neg");
}
// LITERALINCLUDE END: REGISTER ARITHMETIC

} // namespace
} // namespace openreg

// LITERALINCLUDE START: REGISTER ARITHMETIC STUBS
namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(add_stub, &openreg::addKernel)
REGISTER_PRIVATEUSE1_DISPATCH(mul_stub, &openreg::multiplyKernel)
REGISTER_PRIVATEUSE1_DISPATCH(div_true_stub, &openreg::divideKernel)
REGISTER_PRIVATEUSE1_DISPATCH(neg_stub, &openreg::elementwiseStub<"neg">)
} // namespace at::native
// LITERALINCLUDE END: REGISTER ARITHMETIC STUBS
