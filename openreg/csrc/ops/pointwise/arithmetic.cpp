// Arithmetic: add, sub, mul, div and neg in all their forms.
#include "ops/launch/elementwise.h"
#include "ops/structured/structured.h"

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
void negateKernel(at::TensorIteratorBase& iter) {
  launchElementwise(kernelFamily<"neg">, iter);
}
// LITERALINCLUDE END: ARITHMETIC KERNELS

// LITERALINCLUDE START: REGISTER ARITHMETIC
using Add = Structured<at::native::structured_ufunc_add_CPU>;
using Subtract = Structured<at::native::structured_sub_out>; // its impl is add's stub with -alpha
using Multiply = Structured<at::native::structured_mul_out>;
using Divide = Structured<at::native::structured_div_out>;
using Negate = Structured<at::native::structured_neg_out>;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("add.Tensor", Add::functional);
  m.impl("add_.Tensor", Add::inplace);
  m.impl("add.out", Add::out);
  m.impl("sub.Tensor", Subtract::functional);
  m.impl("sub_.Tensor", Subtract::inplace);
  m.impl("sub.out", Subtract::out);
  m.impl("mul.Tensor", Multiply::functional);
  m.impl("mul_.Tensor", Multiply::inplace);
  m.impl("mul.out", Multiply::out);
  m.impl("div.Tensor", Divide::functional);
  m.impl("div_.Tensor", Divide::inplace);
  m.impl("div.out", Divide::out);
  m.impl("neg", Negate::functional);
  m.impl("neg_", Negate::inplace);
  m.impl("neg.out", Negate::out);
}
// LITERALINCLUDE END: REGISTER ARITHMETIC

} // namespace
} // namespace openreg

// LITERALINCLUDE START: REGISTER ARITHMETIC STUBS
namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(add_stub, &openreg::addKernel)
REGISTER_PRIVATEUSE1_DISPATCH(mul_stub, &openreg::multiplyKernel)
REGISTER_PRIVATEUSE1_DISPATCH(div_true_stub, &openreg::divideKernel)
REGISTER_PRIVATEUSE1_DISPATCH(neg_stub, &openreg::negateKernel)
} // namespace at::native
// LITERALINCLUDE END: REGISTER ARITHMETIC STUBS
