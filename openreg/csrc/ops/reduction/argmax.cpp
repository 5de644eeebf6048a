// argmax: where the largest element is.
#include "ops/reduction/reduce_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/ReduceOps.h>
#include <ATen/ops/argmax_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_argmax_out, "argmax.out">>(m, "argmax");
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(argmax_stub, &openreg::reduceStub<"argmax">)
} // namespace at::native
