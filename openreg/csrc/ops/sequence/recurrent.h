// What the cells of LSTM and GRU check alike.
#pragma once

#include "ops/launch/arrays.h"
#include "ops/structured/structured_output.h"

namespace openreg {

/**
 * @brief The sizes among a kernel's arguments, for a cell with so many gates.
 * @throws c10::Error if the tensors are not of one type, or do not fit each other.
 */
template <class Args>
Args describe(
    const char* op,
    int64_t gates,
    const at::Tensor& inputGates,
    const at::Tensor& hiddenGates,
    const at::Tensor& state,
    const std::optional<at::Tensor>& inputBias,
    const std::optional<at::Tensor>& hiddenBias) {
  for (const auto* tensor : {&inputGates, &hiddenGates, &state}) {
    TORCH_CHECK(tensor->dim() == 2, op, ": expected gates and states of 2 dimensions, but got ", tensor->sizes());
    TORCH_CHECK(
        tensor->scalar_type() == inputGates.scalar_type(), op, ": expected gates and states of one type, but got ",
        inputGates.scalar_type(), " and ", tensor->scalar_type());
  }
  const at::IntArrayRef expected[] = {inputGates.sizes(), hiddenGates.sizes()};
  for (const auto& sizes : expected) {
    TORCH_CHECK(
        sizes[0] == state.size(0) && sizes[1] == gates * state.size(1), op, ": expected ", gates, " gates for a state ",
        "of size ", state.sizes(), ", but got gates of size ", sizes);
  }
  TORCH_CHECK(
      (inputBias && inputBias->defined()) == (hiddenBias && hiddenBias->defined()), op,
      ": expected both biases or none");
  for (const auto* bias : {&inputBias, &hiddenBias}) {
    TORCH_CHECK(
        !*bias || !(*bias)->defined() || (*bias)->numel() == gates * state.size(1), op, ": expected a bias of ",
        gates * state.size(1), " numbers");
  }
  Args args{};
  args.rows = state.size(0);
  args.size = state.size(1);
  return args;
}

} // namespace openreg
