// Kernels for PyTorch's stubs that work element by element.
#pragma once

#include "ops/launch/elementwise.h"
#include "ops/structured/structured.h"

#include <utility>

namespace openreg {

// LITERALINCLUDE START: ELEMENTWISE STUB
/**
 * @brief The function to register for a stub: launches the kernels `family`, with the stub's scalars as parameters.
 *
 *     REGISTER_PRIVATEUSE1_DISPATCH(sin_stub, &openreg::elementwiseStub<"sin">)
 */
template <Name family, class Iterator, class... Parameters>
void elementwiseStub(Iterator& iter, Parameters... parameters) {
  launchElementwise(kernelFamily<family>, iter, {c10::Scalar(std::move(parameters))...});
}
// LITERALINCLUDE END: ELEMENTWISE STUB

} // namespace openreg
