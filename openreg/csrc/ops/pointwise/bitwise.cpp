// Operators on the bits of integers.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/BinaryOps.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/bitwise_and_native.h>
#include <ATen/ops/bitwise_left_shift_native.h>
#include <ATen/ops/bitwise_not_native.h>
#include <ATen/ops/bitwise_or_native.h>
#include <ATen/ops/bitwise_right_shift_native.h>
#include <ATen/ops/bitwise_xor_native.h>
#include <ATen/ops/lshift_native.h>
#include <ATen/ops/rshift_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

using WithScalar = at::Tensor (*)(const at::Tensor&, const at::Scalar&);
using WithTensor = at::Tensor (*)(const at::Tensor&, const at::Tensor&);
using InPlaceWithScalar = at::Tensor& (*)(at::Tensor&, const at::Scalar&);
using InPlaceWithTensor = at::Tensor& (*)(at::Tensor&, const at::Tensor&);

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_bitwise_and_out>>(m, "bitwise_and", {"Tensor", "Tensor_out"});
  implForms<Structured<at::native::structured_bitwise_or_out>>(m, "bitwise_or", {"Tensor", "Tensor_out"});
  implForms<Structured<at::native::structured_bitwise_xor_out>>(m, "bitwise_xor", {"Tensor", "Tensor_out"});
  implForms<Structured<at::native::structured_bitwise_left_shift_out>>(
      m, "bitwise_left_shift", {"Tensor", "Tensor_out"});
  implForms<Structured<at::native::structured_bitwise_right_shift_out>>(
      m, "bitwise_right_shift", {"Tensor", "Tensor_out"});
  implForms<Structured<at::native::structured_bitwise_not_out>>(m, "bitwise_not");
  implNative(m, "__lshift__.Scalar", static_cast<WithScalar>(at::native::__lshift__));
  implNative(m, "__lshift__.Tensor", static_cast<WithTensor>(at::native::__lshift__));
  implNative(m, "__ilshift__.Scalar", static_cast<InPlaceWithScalar>(at::native::__ilshift__));
  implNative(m, "__ilshift__.Tensor", static_cast<InPlaceWithTensor>(at::native::__ilshift__));
  implNative(m, "__rshift__.Scalar", static_cast<WithScalar>(at::native::__rshift__));
  implNative(m, "__rshift__.Tensor", static_cast<WithTensor>(at::native::__rshift__));
  implNative(m, "__irshift__.Scalar", static_cast<InPlaceWithScalar>(at::native::__irshift__));
  implNative(m, "__irshift__.Tensor", static_cast<InPlaceWithTensor>(at::native::__irshift__));
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(bitwise_and_stub, &openreg::elementwiseStub<"bitwise_and">)
REGISTER_PRIVATEUSE1_DISPATCH(bitwise_or_stub, &openreg::elementwiseStub<"bitwise_or">)
REGISTER_PRIVATEUSE1_DISPATCH(bitwise_xor_stub, &openreg::elementwiseStub<"bitwise_xor">)
REGISTER_PRIVATEUSE1_DISPATCH(lshift_stub, &openreg::elementwiseStub<"bitwise_left_shift">)
REGISTER_PRIVATEUSE1_DISPATCH(rshift_stub, &openreg::elementwiseStub<"bitwise_right_shift">)
REGISTER_PRIVATEUSE1_DISPATCH(bitwise_not_stub, &openreg::elementwiseStub<"bitwise_not">)
} // namespace at::native
