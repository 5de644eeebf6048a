// Logic: operands of any type, true is what is not 0.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/BinaryOps.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/logical_and_native.h>
#include <ATen/ops/logical_not_native.h>
#include <ATen/ops/logical_or_native.h>
#include <ATen/ops/logical_xor_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

template <Name family, class Iterator>
void logicalStub(Iterator& iter) {
  launchElementwise(kernelFamily<family>, iter, c10::kBool);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implNative(m, "logical_and.out", at::native::logical_and_out);
  implNative(m, "logical_or.out", at::native::logical_or_out);
  implNative(m, "logical_xor.out", at::native::logical_xor_out);
  implNative(m, "logical_not.out", at::native::logical_not_out);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(logical_and_stub, &openreg::logicalStub<"logical_and">)
REGISTER_PRIVATEUSE1_DISPATCH(logical_or_stub, &openreg::logicalStub<"logical_or">)
REGISTER_PRIVATEUSE1_DISPATCH(logical_xor_stub, &openreg::logicalStub<"logical_xor">)
REGISTER_PRIVATEUSE1_DISPATCH(logical_not_stub, &openreg::logicalStub<"logical_not">)
} // namespace at::native
