// Launching elementwise kernels.
#pragma once

#include "ops/launch/kernel_family.h"

#include <ATen/TensorIterator.h>
#include <c10/core/Scalar.h>

#include <initializer_list>

namespace openreg {

// LITERALINCLUDE START: LAUNCH ELEMENTWISE
/**
 * @brief Queues an elementwise kernel over an iterator's operands on the current stream of its device.
 *
 * Does not block. Operands may have any strides and types, and inputs may be CPU scalars.
 * @param family Kernels of the operator.
 * @param iter Operands, on one device.
 * @param type Type to compute in.
 * @param parameters The functor's fields, in their order.
 * @throws c10::NotImplementedError if the operator does not have the type.
 */
C10_EXPORT void launchElementwise(
    const KernelFamily& family,
    const at::TensorIteratorBase& iter,
    c10::ScalarType type,
    std::initializer_list<c10::Scalar> parameters = {});

/** @brief The same, computing in the type that the iterator found by promotion. */
inline void launchElementwise(
    const KernelFamily& family,
    const at::TensorIteratorBase& iter,
    std::initializer_list<c10::Scalar> parameters = {}) {
  launchElementwise(family, iter, iter.common_dtype(), parameters);
}
// LITERALINCLUDE END: LAUNCH ELEMENTWISE

} // namespace openreg
