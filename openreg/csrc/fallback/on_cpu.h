// Tensors to the CPU and back, for functions that do there what the generic fallback cannot.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace openreg {

/** @brief A copy on the CPU; an undefined tensor (a gradient that nobody needs) stays undefined. */
inline at::Tensor onCpu(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.cpu() : at::Tensor();
}

/** @brief onCpu() for an argument that may be missing. */
inline std::optional<at::Tensor> onCpu(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? std::optional(onCpu(*tensor)) : std::nullopt;
}

/** @brief A copy of a CPU result on a device; an undefined tensor stays undefined. */
inline at::Tensor onDevice(const at::Tensor& tensor, at::Device device) {
  return tensor.defined() ? tensor.to(device) : at::Tensor();
}

// LITERALINCLUDE START: BOXED
/** @brief A function with an operator's parameters, as one that takes them from a stack. @see CpuVersion */
template <auto function>
void boxed(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  static const auto kernel = c10::KernelFunction::makeFromUnboxedRuntimeFunction(function);
  kernel.callBoxed(op, c10::DispatchKeySet(), stack);
}
// LITERALINCLUDE END: BOXED

} // namespace openreg
