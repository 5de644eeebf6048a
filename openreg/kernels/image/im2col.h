// Arguments of the kernels "unfold" and "fold". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/image/window.h"

namespace openreg::kernels {

/// An image's planes as matrices with a column for each position of a window, or back. Arrays are contiguous and of the
/// kernel's compute type.
struct UnfoldArgs {
  void* image;  ///< planes × window.image; written by "fold".
  void* matrix; ///< planes × window.size × window.result; written by "unfold".
  int64_t planes;
  Window window;
};

} // namespace openreg::kernels
