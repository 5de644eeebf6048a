// What autograd has to know of the forms that write into a tensor they are given.
#include "custom_ops/rms_norm.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/library.h>

namespace openreg {
namespace {

/// Whether a derivative of any kind is asked for.
template <class... T>
bool isDifferentiated(const T&... tensors) {
  return torch::autograd::compute_requires_grad(tensors...) || (torch::autograd::isFwGradDefined(tensors) || ...);
}

// LITERALINCLUDE START: OWN IN PLACE AUTOGRAD
/// The fused form loses the sum before it can be saved, so who wants a gradient gets two operators that have one.
at::Tensor addRmsNormAutograd(
    c10::DispatchKeySet keys, at::Tensor& residual, const at::Tensor& input, const at::Tensor& weight, double eps) {
  if (isDifferentiated(residual, input, weight)) {
    return composedAddRmsNorm(residual, input, weight, eps);
  }
  const at::AutoDispatchBelowAutograd below;
  return addRmsNormOp()->redispatch(keys & c10::after_autograd_keyset, residual, input, weight, eps);
}

at::Tensor& rmsNormOutAutograd(
    c10::DispatchKeySet keys, const at::Tensor& input, const at::Tensor& weight, double eps, at::Tensor& out) {
  TORCH_CHECK(
      !isDifferentiated(input, weight, out),
      "openreg::rms_norm(): functions with out=... arguments don't support automatic differentiation, but one of the "
      "arguments requires grad.");
  const at::AutoDispatchBelowAutograd below;
  return rmsNormOutOp()->redispatch(keys & c10::after_autograd_keyset, input, weight, eps, out);
}
// LITERALINCLUDE END: OWN IN PLACE AUTOGRAD

// LITERALINCLUDE START: OWN VERSION
/// Counts the change, so that a backward pass that has saved the tensor finds out.
at::Tensor addRmsNormVersion(
    c10::DispatchKeySet keys, at::Tensor& residual, const at::Tensor& input, const at::Tensor& weight, double eps) {
  auto output = [&] {
    const at::AutoDispatchBelowADInplaceOrView below;
    return addRmsNormOp()->redispatch(keys & c10::after_ADInplaceOrView_keyset, residual, input, weight, eps);
  }();
  torch::autograd::impl::bump_version(residual);
  return output;
}
// LITERALINCLUDE END: OWN VERSION

at::Tensor& rmsNormOutVersion(
    c10::DispatchKeySet keys, const at::Tensor& input, const at::Tensor& weight, double eps, at::Tensor& out) {
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    rmsNormOutOp()->redispatch(keys & c10::after_ADInplaceOrView_keyset, input, weight, eps, out);
  }
  torch::autograd::impl::bump_version(out);
  return out;
}

TORCH_LIBRARY_IMPL(openreg, Autograd, m) {
  m.impl("add_rms_norm_", addRmsNormAutograd);
  m.impl("rms_norm.out", rmsNormOutAutograd);
}

TORCH_LIBRARY_IMPL(openreg, ADInplaceOrView, m) {
  m.impl("add_rms_norm_", addRmsNormVersion);
  m.impl("rms_norm.out", rmsNormOutVersion);
}

} // namespace
} // namespace openreg
