// An operator works on one device. PyTorch's generated code checks that for the backends in its tree; a fallback has
// to.
#include "fallback/same_device.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/op_registration/adaption.h>

#include <vector>

namespace openreg {

// Without this, the fallback would not even notice: on the CPU all copies are alike, and x + y of two devices has a
// result.
void checkSameDevice(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const auto& parameters = op.schema().arguments();
  const auto given = torch::jit::last(stack, parameters.size());
  std::optional<c10::Device> common;
  const auto check = [&](const at::Tensor& tensor, const c10::Argument& parameter, bool mayBeOnCpu) {
    if (!tensor.defined() || (mayBeOnCpu && tensor.is_cpu())) {
      return;
    }
    if (!common) {
      common = tensor.device();
    }
    if (*common != tensor.device()) {
      const auto name = c10::toString(op.operator_name());
      c10::impl::common_device_check_failure(*common, tensor, name.c_str(), parameter.name().c_str());
    }
  };
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto& parameter = parameters[i];
    const bool isWritten = parameter.alias_info() != nullptr && parameter.alias_info()->isWrite();
    const auto checkOne = [&](const at::Tensor& tensor) {
      check(tensor, parameter, !isWritten && tensor.defined() && tensor.dim() == 0);
    };
    if (given[i].isTensor()) {
      checkOne(given[i].toTensor());
    } else if (given[i].isTensorList()) {
      for (const at::Tensor& tensor : given[i].toTensorList()) {
        checkOne(tensor);
      }
    } else if (given[i].isOptionalTensorList()) {
      // Lists with gaps are indices. PyTorch lets those be on the CPU, and checks them itself.
      for (const std::optional<at::Tensor> tensor : given[i].toOptionalTensorList()) {
        check(tensor.value_or(at::Tensor()), parameter, /*mayBeOnCpu=*/true);
      }
    }
  }
}

std::optional<c10::Device> deviceOf(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  for (const auto& argument : torch::jit::last(stack, op.schema().arguments().size())) {
    const auto tensors = argument.isTensor()       ? std::vector{argument.toTensor()}
                         : argument.isTensorList() ? argument.toTensorVector()
                                                   : std::vector<at::Tensor>();
    for (const auto& tensor : tensors) {
      if (tensor.defined() && tensor.is_privateuseone()) {
        return tensor.device();
      }
    }
  }
  return std::nullopt;
}

} // namespace openreg
