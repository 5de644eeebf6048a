// Arguments of the pooling kernels. Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/image/window.h"

namespace openreg::kernels {

/// "max_pool", "average_pool" and their backward kernels: each plane (a channel of an image) by itself. Arrays are
/// contiguous and of the kernel's compute type. Backward, `image` and `result` are the gradients; `image` is written.
struct PoolArgs {
  void* image;    ///< planes × window.image.
  void* result;   ///< planes × window.result.
  int64_t* index; ///< Maxima only: where in its plane each element of `result` came from.
  int64_t planes;
  Window window;
  int64_t divisor;       ///< Averages only: what sums are divided by; 0: by the number of elements,
  int64_t countsPadding; ///< of which those in the padding are some or not.
};

/// "adaptive_max_pool", "adaptive_average_pool" and their backward kernels. As above.
struct AdaptivePoolArgs {
  void* image;    ///< planes × imageSize.
  void* result;   ///< planes × resultSize.
  int64_t* index; ///< Maxima only.
  int64_t planes;
  Extent imageSize;
  Extent resultSize;
};

} // namespace openreg::kernels
