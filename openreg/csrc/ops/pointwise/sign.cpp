// Signs, absolute values, and what is not an ordinary number.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/pointwise/elementwise_stub_of_input.h"
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <ATen/native/TensorCompare.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/abs_native.h>
#include <ATen/ops/angle_native.h>
#include <ATen/ops/conj_physical_native.h>
#include <ATen/ops/isnan_native.h>
#include <ATen/ops/isneginf_native.h>
#include <ATen/ops/isposinf_native.h>
#include <ATen/ops/nan_to_num_native.h>
#include <ATen/ops/neg_native.h>
#include <ATen/ops/sgn_native.h>
#include <ATen/ops/sign_native.h>
#include <ATen/ops/signbit_native.h>
#include <limits>
#include <torch/library.h>

namespace openreg {
namespace {

/// The largest finite number of a type.
double largest(c10::ScalarType type) {
  switch (c10::toRealValueType(type)) {
    case c10::kHalf:
      return std::numeric_limits<c10::Half>::max();
    case c10::kBFloat16:
      return std::numeric_limits<c10::BFloat16>::max();
    case c10::kFloat:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

void nanToNumKernel(
    at::TensorIteratorBase& iter,
    std::optional<double> nan,
    std::optional<double> positive,
    std::optional<double> negative) {
  const auto limit = largest(iter.common_dtype());
  launchElementwise(
      kernelFamily<"nan_to_num">, iter, {nan.value_or(0.0), positive.value_or(limit), negative.value_or(-limit)});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_sign_out>>(m, "sign");
  implForms<Structured<at::native::structured_sgn_out>>(m, "sgn");
  implForms<Structured<at::native::structured_signbit_out>>(m, "signbit");
  implForms<Structured<at::native::structured_isposinf_out>>(m, "isposinf");
  implForms<Structured<at::native::structured_isneginf_out>>(m, "isneginf");
  implNative(m, "abs.out", at::native::abs_out);
  implNative(m, "angle", at::native::angle);
  implNative(m, "angle.out", at::native::angle_out);
  implPlain<"conj_physical.out", at::native::conj_physical_out>(m);
  implNative(m, "isnan", at::native::isnan);
  implPlain<"nan_to_num.out", at::native::nan_to_num_out>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(abs_stub, &openreg::elementwiseStub<"abs">)
REGISTER_PRIVATEUSE1_DISPATCH(sign_stub, &openreg::elementwiseStub<"sign">)
REGISTER_PRIVATEUSE1_DISPATCH(sgn_stub, &openreg::elementwiseStub<"sgn">)
REGISTER_PRIVATEUSE1_DISPATCH(angle_stub, &openreg::elementwiseStub<"angle">)
REGISTER_PRIVATEUSE1_DISPATCH(conj_physical_stub, &openreg::elementwiseStub<"conj_physical">)
REGISTER_PRIVATEUSE1_DISPATCH(signbit_stub, &openreg::elementwiseStubOfInput<"signbit">)
REGISTER_PRIVATEUSE1_DISPATCH(isposinf_stub, &openreg::elementwiseStubOfInput<"isposinf">)
REGISTER_PRIVATEUSE1_DISPATCH(isneginf_stub, &openreg::elementwiseStubOfInput<"isneginf">)
REGISTER_PRIVATEUSE1_DISPATCH(nan_to_num_stub, &openreg::nanToNumKernel)
} // namespace at::native
