// Arguments of the kernels "upsample" and "upsample_backward". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/image/window.h"

namespace openreg::kernels {

/// How an element of a result is made of the image's.
enum class Interpolation : int64_t {
  Nearest,
  NearestExact,
  Linear,
  Cubic,
  LinearAntialias,
  CubicAntialias,
  LanczosAntialias
};

/// Each plane gets another size. Arrays are contiguous and of the kernel's compute type. Backward, `image` and `result`
/// are the gradients, and `image` is written.
struct UpsampleArgs {
  void* image;  ///< planes × imageSize.
  void* result; ///< planes × resultSize.
  int64_t planes;
  Extent imageSize;
  Extent resultSize;
  Interpolation interpolation;
  int64_t alignCorners; ///< Whether the corner elements of both stay where they are; else the corners do.
  double factor[3];     ///< Of each dimension, how much larger the result is; 0: what the sizes say.
};

} // namespace openreg::kernels
