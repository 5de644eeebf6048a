// Arguments of the kernels "pad_reflect", "pad_replicate" and their backward kernels. Plain data: the launcher includes
// this file, too.
#pragma once

#include "kernels/image/window.h"

namespace openreg::kernels {

/// Each plane gets a border out of its own elements. Arrays are contiguous and of the kernel's compute type. Backward,
/// `image` and `result` are the gradients, and `image` is written.
struct PadArgs {
  void* image;  ///< planes × imageSize.
  void* result; ///< planes × resultSize.
  int64_t planes;
  Extent imageSize;
  Extent resultSize;
  Extent before; ///< Elements of the border in front of the image's; negative if some of the image's are left out.
};

} // namespace openreg::kernels
