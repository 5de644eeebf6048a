// The cells of nn.LSTM and nn.GRU on the CPU. The generic fallback cannot serve them: only accelerators have these
// operators.
#include "fallback/on_cpu.h"
#include "fallback/policy.h"
#include "ops/tensor/optional_tensor.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tanh_backward.h>
#include <ATen/ops/zeros_like.h>

#include <tuple>

namespace openreg {
namespace {

// The CPU runs a cell as a dozen operators. Where the device is an accelerator PyTorch calls one fused operator
// instead, which keeps the activated gates for the backward pass in a workspace that only the two of them read.
at::Tensor withBias(const at::Tensor& gates, const OptionalTensor& bias) {
  return bias.has_value() && bias->defined() ? onCpu(gates) + onCpu(*bias) : onCpu(gates);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstmCell(
    const at::Tensor& inputGates,
    const at::Tensor& hiddenGates,
    const at::Tensor& cx,
    const OptionalTensor& inputBias,
    const OptionalTensor& hiddenBias) {
  const auto gates = (withBias(inputGates, inputBias) + withBias(hiddenGates, hiddenBias)).chunk(4, 1);
  const auto in = at::sigmoid(gates[0]);
  const auto forget = at::sigmoid(gates[1]);
  const auto cell = at::tanh(gates[2]);
  const auto out = at::sigmoid(gates[3]);
  const auto cy = forget * onCpu(cx) + in * cell;
  const auto hy = out * at::tanh(cy);
  const auto device = cx.device();
  return {onDevice(hy, device), onDevice(cy, device), onDevice(at::cat({in, forget, cell, out}, 1), device)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> lstmCellBackward(
    const OptionalTensor& gradHy,
    const OptionalTensor& gradCy,
    const at::Tensor& cx,
    const at::Tensor& cy,
    const at::Tensor& workspace,
    bool hasBias) {
  const bool fromHy = gradHy.has_value() && gradHy->defined();
  const bool fromCy = gradCy.has_value() && gradCy->defined();
  if (!fromHy && !fromCy) {
    return {};
  }
  const auto gates = onCpu(workspace).chunk(4, 1);
  const auto &in = gates[0], &forget = gates[1], &cell = gates[2], &out = gates[3];
  const auto tanhCy = at::tanh(onCpu(cy));
  const auto hy = fromHy ? onCpu(*gradHy) : at::zeros_like(tanhCy);
  auto grad = at::tanh_backward(hy * out, tanhCy); // of the new cell state
  if (fromCy) {
    grad = grad + onCpu(*gradCy);
  }
  const auto gradGates = at::cat(
      {at::sigmoid_backward(grad * cell, in), at::sigmoid_backward(grad * onCpu(cx), forget),
       at::tanh_backward(grad * in, cell), at::sigmoid_backward(hy * tanhCy, out)},
      1);
  const auto device = cx.device();
  return {
      onDevice(gradGates, device), onDevice(grad * forget, device),
      hasBias ? onDevice(gradGates.sum(0), device) : at::Tensor()};
}

std::tuple<at::Tensor, at::Tensor> gruCell(
    const at::Tensor& inputGates,
    const at::Tensor& hiddenGates,
    const at::Tensor& hx,
    const OptionalTensor& inputBias,
    const OptionalTensor& hiddenBias) {
  const auto input = withBias(inputGates, inputBias).chunk(3, 1);
  const auto hidden = withBias(hiddenGates, hiddenBias).chunk(3, 1);
  const auto before = onCpu(hx);
  const auto reset = at::sigmoid(input[0] + hidden[0]);
  const auto update = at::sigmoid(input[1] + hidden[1]);
  const auto fresh = at::tanh(input[2] + reset * hidden[2]);
  const auto hy = fresh + update * (before - fresh);
  const auto device = hx.device();
  return {onDevice(hy, device), onDevice(at::cat({reset, update, fresh, before, hidden[2]}, 1), device)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>
gruCellBackward(const at::Tensor& gradHy, const at::Tensor& workspace, bool hasBias) {
  const auto kept = onCpu(workspace).chunk(5, 1);
  const auto &reset = kept[0], &update = kept[1], &fresh = kept[2], &before = kept[3], &hidden = kept[4];
  const auto grad = onCpu(gradHy);
  const auto gradFresh = at::tanh_backward(grad - grad * update, fresh);
  const auto gradUpdate = at::sigmoid_backward(grad * (before - fresh), update);
  const auto gradReset = at::sigmoid_backward(gradFresh * hidden, reset);
  const auto gradInputGates = at::cat({gradReset, gradUpdate, gradFresh}, 1);
  const auto gradHiddenGates = at::cat({gradReset, gradUpdate, gradFresh * reset}, 1);
  const auto device = gradHy.device();
  return {
      onDevice(gradInputGates, device), onDevice(gradHiddenGates, device), onDevice(grad * update, device),
      hasBias ? onDevice(gradInputGates.sum(0), device) : at::Tensor(),
      hasBias ? onDevice(gradHiddenGates.sum(0), device) : at::Tensor()};
}

[[maybe_unused]] const CpuVersion versions[] = {
    {"_thnn_fused_lstm_cell", boxed<lstmCell>},
    {"_thnn_fused_lstm_cell_backward_impl", boxed<lstmCellBackward>},
    {"_thnn_fused_gru_cell", boxed<gruCell>},
    {"_thnn_fused_gru_cell_backward", boxed<gruCellBackward>},
};

} // namespace
} // namespace openreg
