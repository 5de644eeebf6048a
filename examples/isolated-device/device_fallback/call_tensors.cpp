// The tensors of a call, wherever they are among its arguments.
#include "call_tensors.h"

#include "device/device.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace openreg {

c10::IValue mapTensors(const c10::IValue& value, const TensorFunction& function) {
  if (value.isTensor() && value.toTensor().defined()) {
    return function(value.toTensor());
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorList()) {
      list.push_back(function(tensor));
    }
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor> tensor : value.toOptionalTensorList()) {
      list.push_back(tensor && tensor->defined() ? std::optional(function(*tensor)) : std::nullopt);
    }
    return list;
  }
  return value;
}

bool isWritten(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

c10::Device deviceOf(c10::ArrayRef<c10::IValue> arguments) {
  std::optional<c10::Device> found;
  std::optional<c10::Device> named;
  for (const auto& value : arguments) {
    mapTensors(value, [&](const at::Tensor& tensor) {
      if (tensor.defined() && tensor.device().type() == kDeviceType) {
        found = tensor.device();
      }
      return tensor;
    });
    if (value.isDevice() && value.toDevice().type() == kDeviceType) {
      named = value.toDevice();
    }
  }
  const auto device = found.value_or(named.value_or(c10::Device(kDeviceType)));
  return device.has_index() ? device
                            : c10::Device(kDeviceType, c10::impl::VirtualGuardImpl(kDeviceType).getDevice().index());
}

std::vector<at::Tensor> flatTensors(const std::vector<c10::IValue>& values) {
  std::vector<at::Tensor> tensors;
  for (const auto& value : values) {
    mapTensors(value, [&](const at::Tensor& tensor) { return tensors.emplace_back(tensor); });
  }
  return tensors;
}

} // namespace openreg
