// sum and mean.
#include "ops/reduction/reduce_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/ReduceOps.h>
#include <ATen/ops/mean_native.h>
#include <ATen/ops/sum_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: SUM
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using namespace at::native;
  implForms<Structured<structured_sum_out, "sum.IntList_out">>(m, "sum", {"dim_IntList", "IntList_out"});
  implForms<Structured<structured_mean_out, "mean.out">>(m, "mean", {"dim", "out"});
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(sum_stub, &openreg::reduceStub<"sum">)
REGISTER_PRIVATEUSE1_DISPATCH(mean_stub, &openreg::reduceStub<"mean">)
} // namespace at::native
// LITERALINCLUDE END: SUM
