// An operator works on one device.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include <optional>

namespace openreg {

/**
 * @brief Checks that the tensors among an operator's arguments are on one device.
 *
 * As with PyTorch's own accelerators, a CPU tensor may join if it is a single number (and not written to) or an index.
 * @param op Operator that was called.
 * @param stack Its arguments.
 * @throws c10::Error that names the two devices, the argument and the operator.
 */
void checkSameDevice(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

/** @brief The device of the first tensor of this backend among an operator's arguments, if there is one. */
std::optional<c10::Device> deviceOf(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

} // namespace openreg
