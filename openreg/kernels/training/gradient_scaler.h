// Arguments of the kernels of gradient scaling, as torch.amp.GradScaler needs it. Plain data: the launcher includes
// this file, too. Arrays are contiguous and of the kernel's compute type.
#pragma once

#include <cstddef>
#include <cstdint>

namespace openreg::kernels {

/// Most gradients of a launch: with the two numbers as many pointers as it may have.
constexpr int kMaxUnscaled = 62;

/// "amp_unscale": gradients are multiplied; what is not finite is noticed. A launch ends with the last gradient.
struct UnscaleArgs {
  struct Gradient {
    void* elements; ///< Read and written.
    int64_t count;
  };

  float* inverseScale;
  float* found; ///< Set to 1 if there is an infinity or NaN, else left alone.
  int64_t count;
  Gradient gradients[kMaxUnscaled];

  /// Bytes that are used.
  size_t size() const { return offsetof(UnscaleArgs, gradients) + static_cast<size_t>(count) * sizeof(Gradient); }
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
