// Arguments of the kernels "unfold" and "fold". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/image/window.h"

namespace openreg::kernels {

/// Images as matrices with a column for each position of a window, or back. An image has a number of planes, each of
/// which makes rows of its matrix: one for each element of the window. "unfold" moves elements, and "fold" adds them up
/// in its compute type.
struct UnfoldArgs {
  void* image;  ///< images × planes × window.image, contiguous; written by "fold".
  void* matrix; ///< images × (planes · window.size) × window.result; written by "unfold".
  int64_t images;
  int64_t planes;      ///< Of one image.
  int64_t imageStride; ///< From one image's matrix to the next one's, in elements;
  int64_t rowStride;   ///< from one row to the next. Elements of a row lie side by side.
  int64_t elementSize; ///< For "unfold".
  Window window;
};

} // namespace openreg::kernels
