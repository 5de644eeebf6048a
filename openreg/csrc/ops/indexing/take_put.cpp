// take and put_: single elements of a tensor that is seen as one vector.
#include "ops/indexing/indexing.h"
#include "ops/structured/plain.h"

#include <ATen/native/IndexKernel.h>
#include <ATen/ops/put_native.h>
#include <ATen/ops/take_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

at::Tensor flat(const at::TensorBase& self) {
  return at::Tensor(self).reshape({-1});
}

void takeKernel(at::TensorIterator& iter, const at::TensorBase& input) {
  const auto& result = iter.tensor(0);
  const auto taken = flat(result);
  launchAlong(Indexing::Read, taken, flat(input), 0, flat(iter.tensor(1)), true);
  if (!taken.is_alias_of(result)) {
    result.copy_(taken.view(result.sizes()));
  }
}

void putKernel(at::TensorIterator& iter, const at::TensorBase& self, bool accumulate) {
  const at::Tensor target(self);
  const auto written = flat(target); // a copy, if no vector has the tensor's strides
  launchAlong(
      accumulate ? Indexing::Add : Indexing::Write, flat(iter.tensor(0)), written, 0, flat(iter.tensor(1)), true);
  if (!written.is_alias_of(target)) {
    target.copy_(written.view(target.sizes()));
  }
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"take", at::native::take>(m);
  implPlain<"take.out", at::native::take_out>(m);
  implPlain<"put_", at::native::put_>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(take_stub, &openreg::takeKernel)
REGISTER_PRIVATEUSE1_DISPATCH(put_stub, &openreg::putKernel)
} // namespace at::native
