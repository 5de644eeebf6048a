// Rounding to whole numbers, and to decimals.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/UnaryOps.h>
#include <ATen/ops/ceil_native.h>
#include <ATen/ops/floor_native.h>
#include <ATen/ops/frac_native.h>
#include <ATen/ops/round_native.h>
#include <ATen/ops/trunc_native.h>
#include <cmath>
#include <torch/library.h>

namespace openreg {
namespace {

void roundDecimalsKernel(at::TensorIteratorBase& iter, int64_t decimals) {
  launchElementwise(kernelFamily<"round_decimals">, iter, {std::pow(10.0, std::abs(decimals)), decimals < 0});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_ceil_out>>(m, "ceil");
  implForms<Structured<at::native::structured_floor_out>>(m, "floor");
  implForms<Structured<at::native::structured_trunc_out>>(m, "trunc");
  implForms<Structured<at::native::structured_round_out>>(m, "round");
  implForms<Structured<at::native::structured_frac_out>>(m, "frac");
  implForms<Structured<at::native::structured_round_decimals_out>>(m, "round", {"decimals", "decimals_out"});
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(ceil_stub, &openreg::elementwiseStub<"ceil">)
REGISTER_PRIVATEUSE1_DISPATCH(floor_stub, &openreg::elementwiseStub<"floor">)
REGISTER_PRIVATEUSE1_DISPATCH(trunc_stub, &openreg::elementwiseStub<"trunc">)
REGISTER_PRIVATEUSE1_DISPATCH(round_stub, &openreg::elementwiseStub<"round">)
REGISTER_PRIVATEUSE1_DISPATCH(frac_stub, &openreg::elementwiseStub<"frac">)
REGISTER_PRIVATEUSE1_DISPATCH(round_decimals_stub, &openreg::roundDecimalsKernel)
} // namespace at::native
