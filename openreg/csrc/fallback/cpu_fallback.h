// Serving an operator on the CPU.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace openreg {

/**
 * @brief Boxed kernel for any operator: copies its tensors to the CPU, calls the operator there, copies results back.
 *
 * Blocks until the device has caught up. Views are refused: a result that aliases its argument cannot come from a copy.
 * @param op Operator that was called.
 * @param stack Its arguments; receives its results.
 * @throws c10::NotImplementedError if admitFallback() refuses; c10::Error for views and for tensors of several devices;
 * whatever the CPU kernel throws.
 */
void cpuFallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

} // namespace openreg
