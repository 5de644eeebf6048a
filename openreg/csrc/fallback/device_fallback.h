// Serving an operator on the device itself, if it knows all operators by name (the kernel "run_op").
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace openreg {

// LITERALINCLUDE START: DEVICE FALLBACK
/**
 * @brief Boxed kernel for any operator: the device computes it. This side says which operator and where the tensors
 * are, and makes the results.
 *
 * What the results look like is found out on meta tensors, where the operator has a meta function; else the device
 * computes first and keeps the results until there are tensors for them. Either way it computes once. Blocks until the
 * device has caught up, so that an error of the operator is an error of this call.
 * @param op Operator that was called.
 * @param stack Its arguments; receives its results.
 * @throws c10::NotImplementedError if the driver has no such kernel, or for arguments that cannot be described.
 * @throws c10::Error of the device's type, with the operator, the device and the device's text.
 */
void deviceFallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);
// LITERALINCLUDE END: DEVICE FALLBACK

} // namespace openreg
