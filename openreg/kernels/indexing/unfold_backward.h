// Arguments of the kernels "unfold_backward.…". Plain data: the launcher includes this file, too.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// Adds up the gradients of windows that overlap. Arrays are contiguous, numbers of the compute type.
struct UnfoldBackwardArgs {
  void* in;   ///< outer × size × inner, written.
  void* grad; ///< outer × windows × inner × window.
  int64_t outer;
  int64_t size;
  int64_t inner;
  int64_t windows;
  int64_t window; ///< Elements of one.
  int64_t step;   ///< From one to the next.
};

} // namespace openreg::kernels
