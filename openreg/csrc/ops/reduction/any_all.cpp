// any, all and count_nonzero.
#include "ops/reduction/reduce_stub.h"
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <ATen/native/ReduceOps.h>
#include <ATen/ops/all_native.h>
#include <ATen/ops/any_native.h>
#include <ATen/ops/count_nonzero_native.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/sum.h>
#include <torch/library.h>

namespace openreg {
namespace {

at::Tensor countNonzero(const at::Tensor& self, at::IntArrayRef dim) {
  return at::sum(self.ne(0), dim);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_all_out, "all.out">>(m, "all", {"dim", "out"});
  implForms<Structured<at::native::structured_all_dims_out, "all.dims_out">>(m, "all", {"dims", "dims_out"});
  implForms<Structured<at::native::structured_all_all_out, "all.all_out">>(m, "all", {"", "all_out"});
  implForms<Structured<at::native::structured_any_out, "any.out">>(m, "any", {"dim", "out"});
  implForms<Structured<at::native::structured_any_dims_out, "any.dims_out">>(m, "any", {"dims", "dims_out"});
  implForms<Structured<at::native::structured_any_all_out, "any.all_out">>(m, "any", {"", "all_out"});
  implPlain<"count_nonzero.dim_IntList", countNonzero>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(and_stub, &openreg::reduceStub<"all">)
REGISTER_PRIVATEUSE1_DISPATCH(or_stub, &openreg::reduceStub<"any">)
} // namespace at::native
