// Arguments of the kernels "log_softmax.…" and "log_softmax_backward.…". Plain data: the launcher includes this file,
// too.
#pragma once

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// Contiguous arrays of outer × size × inner elements; `size` is the dimension that the softmax goes along.
struct SoftmaxArgs {
  void* result;      ///< Device memory, written.
  const void* input; ///< Device memory, read: of the backward, the forward's result.
  const void* grad;  ///< Device memory, read: the gradient of the forward's result; unused by the forward.
  int64_t outer;
  int64_t size;
  int64_t inner;
  DType resultType;
  DType inputType;
  DType gradType;
};

} // namespace openreg::kernels
