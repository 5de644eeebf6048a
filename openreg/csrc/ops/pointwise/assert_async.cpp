// _assert_async: an assertion on a value that nobody waits for. The device fails if it does not hold.
#include "ops/launch/dtype.h"
#include "ops/launch/kernel.h"
#include "ops/structured/plain.h"

#include <kernels/launch/pointers.h>
#include <kernels/pointwise/assertion.h>

#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <string_view>

namespace openreg {
namespace {

void assertWithMessage(const at::Tensor& self, std::string_view message) {
  TORCH_CHECK(
      self.numel() == 1, "Boolean value of Tensor with ", self.numel() == 0 ? "no values" : "more than one value",
      " is ambiguous");
  kernels::AssertArgs args{};
  args.value = self.const_data_ptr();
  args.dtype = kernelDType(self.scalar_type(), kernel<"assert">.name());
  message.copy(args.text, sizeof(args.text) - 1);
  const std::array pointers = {kernels::contiguousPointer(
      offsetof(kernels::AssertArgs, value), orAccessRead, static_cast<uint64_t>(self.element_size()))};
  launch(kernel<"assert">, self.device().index(), args, pointers);
}

void assertHolds(const at::Tensor& self) {
  assertWithMessage(self, "Expected Tensor with single nonzero value, but got zero");
}

at::Tensor assertInOrder(const at::Tensor& self, std::string_view message, const at::Tensor& token) {
  assertWithMessage(self, message);
  return token.clone();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"_assert_async", assertHolds>(m);
  implPlain<"_assert_async.msg", assertWithMessage>(m);
  implPlain<"_functional_assert_async.msg", assertInOrder>(m);
}

} // namespace
} // namespace openreg
