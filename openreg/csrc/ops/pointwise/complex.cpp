// complex and polar: complex numbers out of two real ones.
#include "ops/pointwise/elementwise_stub_of_input.h"
#include "ops/structured/plain.h"

#include <ATen/native/TensorFactories.h>
#include <ATen/ops/complex_native.h>
#include <ATen/ops/polar_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"complex.out", at::native::complex_out>(m);
  implPlain<"polar.out", at::native::polar_out>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(complex_stub, &openreg::elementwiseStubOfInput<"complex">)
REGISTER_PRIVATEUSE1_DISPATCH(polar_stub, &openreg::elementwiseStubOfInput<"polar">)
} // namespace at::native
