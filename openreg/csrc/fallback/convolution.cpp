// Convolutions on the CPU. The generic fallback cannot serve them: no CPU kernel has the name that reaches a backend.
#include "fallback/on_cpu.h"
#include "fallback/policy.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>

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
  const auto result = at::convolution(
      onCpu(input), onCpu(weight), onCpu(bias), stride, padding, dilation, transposed, outputPadding, groups);
  return onDevice(result, input.device());
}

[[maybe_unused]] const CpuVersion convolutionVersion("convolution_overrideable", boxed<convolution>);
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
  // This operator is not told the bias's size, which the CPU's wants: one element for each channel of the output.
  const std::array<int64_t, 1> biasSizes = {gradOutput.size(1)};
  const auto [gradInput, gradWeight, gradBias] = at::convolution_backward(
      onCpu(gradOutput), onCpu(input), onCpu(weight), biasSizes, stride, padding, dilation, transposed, outputPadding,
      groups, outputMask);
  const auto device = input.device();
  return {onDevice(gradInput, device), onDevice(gradWeight, device), onDevice(gradBias, device)};
}

[[maybe_unused]] const CpuVersion backwardVersion("convolution_backward_overrideable", boxed<convolutionBackward>);

} // namespace
} // namespace openreg
