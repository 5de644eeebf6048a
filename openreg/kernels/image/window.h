// How a window slides over an image, in convolutions and pooling. Plain data: the launcher includes this file, too.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// Depth, height and width. Images of fewer dimensions have leading ones.
using Extent = int64_t[3];

constexpr int64_t product(const Extent& extent) {
  return extent[0] * extent[1] * extent[2];
}

/// A window at each of `result` positions over an image. Its element k at position p lies over the image's element
/// p · stride − padding + k · dilation, which may be outside.
struct Window {
  Extent image;
  Extent result;
  Extent size; ///< Of the window.
  Extent stride;
  Extent padding;
  Extent dilation;
};

/// Whether a window is one element that goes over all elements: then an image is its own unfolded matrix.
constexpr bool isPointwise(const Window& window) {
  for (int i = 0; i < 3; ++i) {
    if (window.size[i] != 1 || window.stride[i] != 1 || window.padding[i] != 0) {
      return false;
    }
  }
  return true;
}

} // namespace openreg::kernels
