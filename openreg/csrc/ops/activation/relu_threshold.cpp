// relu and threshold, and their derivatives.
#include "ops/launch/elementwise.h"
#include "ops/structured/structured.h"

#include <ATen/native/Activation.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/ops/clamp_min_native.h>
#include <ATen/ops/relu_native.h>
#include <ATen/ops/threshold_backward_native.h>
#include <ATen/ops/threshold_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

// The stub's signature takes the number by value.
void clampMinKernel(at::TensorIteratorBase& iter, c10::Scalar min) { // NOLINT(performance-unnecessary-value-param)
  launchElementwise(kernelFamily<"clamp_min">, iter, {min});         // NOLINT(performance-unnecessary-value-param)
}
void thresholdKernel(at::TensorIteratorBase& iter, const c10::Scalar& threshold, const c10::Scalar& value) {
  launchElementwise(kernelFamily<"threshold">, iter, {threshold, value});
}

// LITERALINCLUDE START: REGISTER ACTIVATION
using ClampMin = Structured<at::native::structured_clamp_min_out, "clamp_min.out">;
using Threshold = Structured<at::native::structured_threshold_out>;
using ThresholdBackward = Structured<at::native::structured_threshold_backward_out>;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  // Not structured, and yet the same function for every device: it checks the type and calls clamp_min.
  m.impl("relu", at::native::relu);
  m.impl("relu_", at::native::relu_);
  m.impl("clamp_min", ClampMin::functional);
  m.impl("clamp_min_", ClampMin::inplace);
  m.impl("clamp_min.out", ClampMin::out);
  m.impl("threshold", Threshold::functional);
  m.impl("threshold_", Threshold::inplace);
  m.impl("threshold.out", Threshold::out);
  m.impl("threshold_backward", ThresholdBackward::functional);
  m.impl("threshold_backward.grad_input", ThresholdBackward::out);
}
// LITERALINCLUDE END: REGISTER ACTIVATION

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(clamp_min_scalar_stub, &openreg::clampMinKernel)
REGISTER_PRIVATEUSE1_DISPATCH(threshold_stub, &openreg::thresholdKernel)
} // namespace at::native
