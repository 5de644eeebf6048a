// argmax: where the largest element is.
#include "ops/reduction/reduce.h"
#include "ops/structured/structured.h"

#include <ATen/native/ReduceOps.h>
#include <ATen/ops/argmax_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

void argMaxKernel(at::TensorIterator& iter) {
  launchReduce(kernelFamily<"argmax">, iter);
}

using ArgMax = Structured<at::native::structured_argmax_out, "argmax.out">;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("argmax", ArgMax::functional);
  m.impl("argmax.out", ArgMax::out);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(argmax_stub, &openreg::argMaxKernel)
} // namespace at::native
