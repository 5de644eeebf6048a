// sum and mean.
#include "ops/reduction/reduce.h"
#include "ops/structured/structured.h"

#include <ATen/native/ReduceOps.h>
#include <ATen/ops/mean_native.h>
#include <ATen/ops/sum_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: SUM

void sumKernel(at::TensorIterator& iter) {
  launchReduce(kernelFamily<"sum">, iter);
}
void meanKernel(at::TensorIterator& iter) {
  launchReduce(kernelFamily<"mean">, iter);
}

using Sum = Structured<at::native::structured_sum_out, "sum.IntList_out">;
using Mean = Structured<at::native::structured_mean_out, "mean.out">;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("sum.dim_IntList", Sum::functional);
  m.impl("sum.IntList_out", Sum::out);
  m.impl("mean.dim", Mean::functional);
  m.impl("mean.out", Mean::out);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(sum_stub, &openreg::sumKernel)
REGISTER_PRIVATEUSE1_DISPATCH(mean_stub, &openreg::meanKernel)
} // namespace at::native
// LITERALINCLUDE END: SUM
