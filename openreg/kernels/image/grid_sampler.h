// Arguments of the kernels "grid_sampler" and "grid_sampler_backward". Plain data: the launcher includes this file,
// too.
#pragma once

#include "kernels/image/window.h"

namespace openreg::kernels {

/// Elements of images at positions that a grid says. Arrays are contiguous and of the kernel's compute type.
struct GridSamplerArgs {
  void* image;     ///< batch × channels × imageSize.
  void* grid;      ///< batch × resultSize × dims: width, height, depth, each from −1 to 1 over the image.
  void* result;    ///< batch × channels × resultSize; forward written, backward its gradient.
  void* gradImage; ///< Backward only: written, or null.
  void* gradGrid;  ///< Backward only: written, or null.
  int64_t batch;
  int64_t channels;
  int64_t dims; ///< 2 or 3.
  Extent imageSize;
  Extent resultSize;
  int64_t interpolation; ///< 0 linear, 1 nearest, 2 cubic: at::native::detail::GridSamplerInterpolation.
  int64_t padding;       ///< Outside the image are 0 zeros, 1 the border's elements, 2 the image in a mirror.
  int64_t alignCorners;  ///< Whether −1 and 1 are the centers of the corner elements; else the corners.
};

} // namespace openreg::kernels
