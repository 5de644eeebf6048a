// Arguments of the kernels "convolution", "convolution_image" and "convolution_weight": each writes the array that it
// is named after, the first the result, out of the other two. Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/image/window.h"

namespace openreg::kernels {

/// A convolution takes images to results; its two gradients, and the transposed convolution, relate the same three
/// arrays. All are contiguous and of the kernel's compute type.
struct ConvolutionArgs {
  void* image;  ///< batch × (groups · channels) × window.image.
  void* weight; ///< (groups · filters) × channels × window.size.
  void* result; ///< batch × (groups · filters) × window.result.
  void* bias;   ///< A number for each channel of what is written; null if there is none.
  int64_t batch;
  int64_t groups;
  int64_t channels; ///< Of the image, in one group.
  int64_t filters;  ///< Channels of the result, in one group.
  Window window;
};

} // namespace openreg::kernels
