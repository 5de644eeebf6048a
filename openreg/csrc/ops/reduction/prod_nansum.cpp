// prod and nansum.
#include "ops/reduction/reduce_stub.h"
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <ATen/native/ReduceOps.h>
#include <ATen/ops/nansum_native.h>
#include <ATen/ops/prod_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_prod_out, "prod.int_out">>(m, "prod", {"dim_int", "int_out"});
  implNative(m, "prod", at::native::prod);
  implPlain<"nansum", at::native::nansum>(m);
  implPlain<"nansum.out", at::native::nansum_out>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(prod_stub, &openreg::reduceStub<"prod">)
REGISTER_PRIVATEUSE1_DISPATCH(nansum_stub, &openreg::reduceStub<"nansum">)
} // namespace at::native
