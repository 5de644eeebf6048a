// Launching reductions.
#pragma once

#include "ops/launch/kernel_family.h"

#include <ATen/TensorIterator.h>
#include <c10/core/Scalar.h>

#include <initializer_list>

namespace openreg {

// LITERALINCLUDE START: LAUNCH REDUCE
/**
 * @brief Queues a reduction over an iterator's operands on the current stream of its device. Does not block.
 *
 * It computes in the type of the input. Nothing happens if there is no element: the caller knows what to store then.
 * @param family Kernels of the operator.
 * @param iter As at::native::make_reduction makes it: outputs have stride 0 in the dimensions that are reduced.
 * @param parameters The functor's fields, in their order.
 * @throws c10::NotImplementedError if the operator does not have the type.
 */
void launchReduce(
    const KernelFamily& family, const at::TensorIteratorBase& iter, std::initializer_list<c10::Scalar> parameters = {});
// LITERALINCLUDE END: LAUNCH REDUCE

} // namespace openreg
