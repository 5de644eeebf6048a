// Convolutions on the CPU. The generic fallback cannot serve them: no CPU kernel has the name that reaches a backend.
#include "fallback/on_cpu.h"
#include "fallback/policy.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <torch/library.h>

#include <array>
#include <tuple>

namespace openreg {
namespace {

// LITERALINCLUDE START: CONVOLUTION
// at::convolution chooses a library by the device (oneDNN, cuDNN, ...). For a device outside PyTorch's tree it calls
// convolution_overrideable, which exists to be registered, and whose own kernel does nothing but say so.
at::Tensor convolution(
    const at::Tensor& input,
    const at::Tensor& weight,
    const std::optional<at::Tensor>& bias,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    bool transposed,
    at::IntArrayRef outputPadding,
    int64_t groups) {
  checkSameDevice(
      "aten::convolution_overrideable", {{"input", input}, {"weight", weight}, {"bias", bias.value_or(at::Tensor())}});
  admitFallback({"aten::convolution_overrideable", ""});
  const auto result = at::convolution(
      onCpu(input), onCpu(weight), onCpu(bias), stride, padding, dilation, transposed, outputPadding, groups);
  return onDevice(result, input.device());
}
// LITERALINCLUDE END: CONVOLUTION

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolutionBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& input,
    const at::Tensor& weight,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    bool transposed,
    at::IntArrayRef outputPadding,
    int64_t groups,
    std::array<bool, 3> outputMask) {
  checkSameDevice(
      "aten::convolution_backward_overrideable", {{"grad_output", gradOutput}, {"input", input}, {"weight", weight}});
  admitFallback({"aten::convolution_backward_overrideable", ""});
  // This operator is not told the bias's size, which the CPU's wants: one element for each channel of the output.
  const std::array<int64_t, 1> biasSizes = {gradOutput.size(1)};
  const auto [gradInput, gradWeight, gradBias] = at::convolution_backward(
      onCpu(gradOutput), onCpu(input), onCpu(weight), biasSizes, stride, padding, dilation, transposed, outputPadding,
      groups, outputMask);
  const auto device = input.device();
  return {onDevice(gradInput, device), onDevice(gradWeight, device), onDevice(gradBias, device)};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("convolution_overrideable", convolution);
  m.impl("convolution_backward_overrideable", convolutionBackward);
}

} // namespace
} // namespace openreg
