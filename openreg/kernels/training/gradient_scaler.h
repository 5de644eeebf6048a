// Arguments of the kernels of gradient scaling, as torch.amp.GradScaler needs it. Plain data: the launcher includes
// this file, too. Arrays are contiguous and of the kernel's compute type.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// "amp_unscale": gradients are multiplied; what is not finite is noticed.
struct UnscaleArgs {
  void* gradients = nullptr; ///< Read and written.
  float* inverseScale = nullptr;
  float* found = nullptr; ///< Set to 1 if there is an infinity or NaN, else left alone.
  int64_t count;
};

/// "amp_update_scale": the scale grows after so many steps without infinities, and shrinks after one with.
struct UpdateScaleArgs {
  float* scale = nullptr;   ///< Read and written.
  int32_t* steps = nullptr; ///< Since the scale last changed; read and written.
  float* found = nullptr;
  double growth;    ///< A factor.
  double backoff;   ///< A factor.
  int64_t interval; ///< So many steps.
};

} // namespace openreg::kernels
