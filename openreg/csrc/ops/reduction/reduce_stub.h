// Kernels for PyTorch's stubs that reduce.
#pragma once

#include "ops/reduction/reduce.h"
#include "ops/structured/structured.h"

#include <utility>

namespace openreg {

// LITERALINCLUDE START: REDUCE STUB
/**
 * @brief The function to register for a stub: launches the kernels `family`, with the stub's scalars as parameters.
 *
 *     REGISTER_PRIVATEUSE1_DISPATCH(prod_stub, &openreg::reduceStub<"prod">)
 */
template <Name family, class... Parameters>
void reduceStub(at::TensorIterator& iter, Parameters... parameters) {
  launchReduce(kernelFamily<family>, iter, {c10::Scalar(std::move(parameters))...});
}
// LITERALINCLUDE END: REDUCE STUB

} // namespace openreg
