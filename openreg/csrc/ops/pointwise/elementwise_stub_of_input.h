// Kernels for PyTorch's stubs that work element by element, in the type of the inputs.
#pragma once

#include "ops/launch/elementwise.h"

namespace openreg {

/** @brief As elementwiseStub(), where the output is of another type than what is computed in: isposinf, complex. */
template <Name family, class Iterator>
void elementwiseStubOfInput(Iterator& iter) {
  launchElementwise(kernelFamily<family>, iter, iter.input_dtype());
}

} // namespace openreg
