// The error of an index that is out of range.
#pragma once

#include "kernels/launch/error_text.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// Says which index is wrong.
inline void failOutOfRange(orKernelContext& context, int64_t index, int64_t dimension, int64_t size) {
  const ErrorText text = ErrorText() << "index " << index << " is out of bounds for dimension " << dimension
                                     << " with size " << size;
  context.fail(&context, orErrorAssert, text.get());
}

} // namespace openreg::kernels
