// The fallback: one kernel for every operator that has none here.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace openreg {

/**
 * @brief Boxed kernel for any operator: whoever serves the mode of setFallbackMode() computes it, by default the CPU.
 *
 * The CPU gets copies of the tensors, and blocks until the device has caught up. It refuses views: a result that
 * aliases its argument cannot come from a copy.
 * @param op Operator that was called.
 * @param stack Its arguments; receives its results.
 * @throws c10::NotImplementedError if admitFallback() refuses; c10::Error for views and for tensors of several devices;
 * whatever the CPU kernel throws.
 */
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/**
 * @brief Serves the mode "cpu": computes a call on the CPU, and brings what comes out to the device. Blocks.
 * @param op Operator that was called.
 * @param stack As above.
 */
void serveOnCpu(const c10::OperatorHandle& op, torch::jit::Stack* stack);

} // namespace openreg
