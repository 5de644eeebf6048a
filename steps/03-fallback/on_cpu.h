// Tensors to the CPU and back, for kernels that do there what the generic fallback cannot.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/op_registration/adaption.h>

#include <initializer_list>
#include <utility>

namespace openreg {

/**
 * @brief Checks that arguments of an operator are on one device; undefined tensors don't count.
 * @param op Name of the operator.
 * @param arguments Names and tensors.
 * @throws c10::Error that names the two devices, the argument and the operator.
 */
inline void checkSameDevice(const char* op, std::initializer_list<std::pair<const char*, at::Tensor>> arguments) {
  std::optional<c10::Device> common;
  for (const auto& [name, tensor] : arguments) {
    c10::impl::check_and_update_common_device(common, tensor, op, name);
  }
}

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

} // namespace openreg
