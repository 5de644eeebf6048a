// relu and threshold, and their derivatives.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"

#include <ATen/native/Activation.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/ops/clamp_min_native.h>
#include <ATen/ops/relu_native.h>
#include <ATen/ops/threshold_backward_native.h>
#include <ATen/ops/threshold_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: REGISTER ACTIVATION
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using namespace at::native;
  // Not structured, and yet the same function for every device: it checks the type and calls clamp_min.
  implNative(m, "relu", relu);
  implNative(m, "relu_", relu_);
  implForms<Structured<structured_clamp_min_out, "clamp_min.out">>(m, "clamp_min");
  implForms<Structured<structured_threshold_out>>(m, "threshold");
  implForms<Structured<structured_threshold_backward_out>>(m, "threshold_backward", {"", "grad_input"});
}
// LITERALINCLUDE END: REGISTER ACTIVATION

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(clamp_min_scalar_stub, &openreg::elementwiseStub<"clamp_min">)
REGISTER_PRIVATEUSE1_DISPATCH(threshold_stub, &openreg::elementwiseStub<"threshold">)
} // namespace at::native
