// The tensors of a call, wherever they are among its arguments.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <vector>

namespace openreg {

using TensorFunction = std::function<at::Tensor(const at::Tensor&)>;

/** @brief The value with each tensor in it replaced. */
c10::IValue mapTensors(const c10::IValue& value, const TensorFunction& function);

/** @brief All tensors in the values, in order. */
std::vector<at::Tensor> flatTensors(const std::vector<c10::IValue>& values);

/** @brief Whether an operator writes to this argument. */
bool isWritten(const c10::Argument& argument);

/** @brief The device that a call is for: that of its tensors, else the one it names, else the current one. */
c10::Device deviceOf(c10::ArrayRef<c10::IValue> arguments);

} // namespace openreg
