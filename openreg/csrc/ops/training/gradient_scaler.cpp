// What torch.amp.GradScaler needs: gradients of a scaled loss are scaled back, and the scale follows what they can
// bear.
#include "ops/launch/arrays.h"
#include "ops/structured/plain.h"

#include <kernels/training/gradient_scaler.h>

#include <torch/library.h>

namespace openreg {
namespace {

void checkNumber(const char* name, const at::Tensor& tensor, at::ScalarType type) {
  TORCH_CHECK(tensor.numel() == 1, name, " must be a 1-element tensor, but has ", tensor.numel(), " elements");
  TORCH_CHECK(tensor.scalar_type() == type, name, " must be a ", type, " tensor, but is a ", tensor.scalar_type());
}

void unscale(at::TensorList gradients, at::Tensor& found, const at::Tensor& inverseScale) {
  checkNumber("found_inf", found, at::kFloat);
  checkNumber("inv_scale", inverseScale, at::kFloat);
  for (const auto& gradient : gradients) {
    const auto array = asArray(gradient);
    launchOverArrays(
        kernelFamily<"amp_unscale">, gradient, kernels::UnscaleArgs{.count = gradient.numel()},
        {writes("gradients", &kernels::UnscaleArgs::gradients, array),
         reads("inverse_scale", &kernels::UnscaleArgs::inverseScale, inverseScale),
         writes("found", &kernels::UnscaleArgs::found, found)});
    if (!array.is_same(gradient)) {
      gradient.copy_(array);
    }
  }
}

at::Tensor& updateScale(
    at::Tensor& scale, at::Tensor& steps, const at::Tensor& found, double growth, double backoff, int64_t interval) {
  checkNumber("current_scale", scale, at::kFloat);
  checkNumber("growth_tracker", steps, at::kInt);
  checkNumber("found_inf", found, at::kFloat);
  using Args = kernels::UpdateScaleArgs;
  launchOverArrays(
      kernelFamily<"amp_update_scale">, scale, Args{.growth = growth, .backoff = backoff, .interval = interval},
      {writes("scale", &Args::scale, scale), writes("steps", &Args::steps, steps),
       reads("found", &Args::found, found)});
  return scale;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"_amp_foreach_non_finite_check_and_unscale_", unscale>(m);
  implPlain<"_amp_update_scale_", updateScale>(m);
}

} // namespace
} // namespace openreg
