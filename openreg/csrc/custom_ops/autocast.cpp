// RMS normalisation inside torch.autocast.
#include "custom_ops/rms_norm.h"

#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: OWN AUTOCAST
/// Autocast has its input in float as a rule, because a sum of squares in halves overflows at 256. This operator sums
/// in float whatever it is given, so it takes halves. The weight stays as it is: float parameters are welcome.
template <at::DeviceType type>
at::Tensor rmsNormAutocast(const at::Tensor& input, const at::Tensor& weight, double eps) {
  const c10::impl::ExcludeDispatchKeyGuard outside(at::autocast::get_autocast_dispatch_key_from_device_type(type));
  const auto half = at::autocast::get_autocast_dtype(type);
  const auto fits = weight.scalar_type() == at::kFloat;
  return rmsNormOp()->call(
      at::autocast::cached_cast(half, input, type), fits ? weight : at::autocast::cached_cast(half, weight, type), eps);
}

TORCH_LIBRARY_IMPL(openreg, AutocastPrivateUse1, m) {
  m.impl("rms_norm", rmsNormAutocast<at::kPrivateUse1>);
}

TORCH_LIBRARY_IMPL(openreg, AutocastCPU, m) {
  m.impl("rms_norm", rmsNormAutocast<at::kCPU>);
}
// LITERALINCLUDE END: OWN AUTOCAST

} // namespace
} // namespace openreg
