// addr: the default implementation, out of other operators, would round three times.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/plain.h"

#include <ATen/native/LinearAlgebra.h>
#include <ATen/ops/addr_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"addr", at::native::addr>(m);
  implPlain<"addr.out", at::native::addr_out>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(addr_stub, &openreg::elementwiseStub<"addr">)
} // namespace at::native
