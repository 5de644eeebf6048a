// Arguments of the kernel "assert". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// Fails the device with a text if an element is 0.
struct AssertArgs {
  const void* value; ///< One element.
  DType dtype;
  char text[244]; ///< Ends in 0.
};

} // namespace openreg::kernels
