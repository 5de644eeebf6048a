// Batch normalisation on the CPU. The generic fallback would lose the running statistics: the operator changes them,
// and its schema doesn't say so.
#include "fallback/on_cpu.h"
#include "fallback/policy.h"
#include "ops/tensor/optional_tensor.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/native_batch_norm.h>

#include <tuple>

namespace openreg {
namespace {

// LITERALINCLUDE START: BATCH NORM ON CPU
void bringBack(const OptionalTensor& changed, const OptionalTensor& to) {
  if (changed.has_value() && changed->defined()) {
    to->copy_(*changed);
  }
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> batchNorm(
    const at::Tensor& input,
    const OptionalTensor& weight,
    const OptionalTensor& bias,
    const OptionalTensor& runningMean,
    const OptionalTensor& runningVar,
    bool training,
    double momentum,
    double eps) {
  const auto mean = onCpu(runningMean), var = onCpu(runningVar);
  const auto [output, saveMean, saveInvstd] =
      at::native_batch_norm(onCpu(input), onCpu(weight), onCpu(bias), mean, var, training, momentum, eps);
  if (training) {
    bringBack(mean, runningMean);
    bringBack(var, runningVar);
  }
  const auto device = input.device();
  return {onDevice(output, device), onDevice(saveMean, device), onDevice(saveInvstd, device)};
}

[[maybe_unused]] const CpuVersion version("native_batch_norm", boxed<batchNorm>);
// LITERALINCLUDE END: BATCH NORM ON CPU

std::tuple<at::Tensor&, at::Tensor&, at::Tensor&> batchNormOut(
    const at::Tensor& input,
    const OptionalTensor& weight,
    const OptionalTensor& bias,
    const OptionalTensor& runningMean,
    const OptionalTensor& runningVar,
    bool training,
    double momentum,
    double eps,
    at::Tensor& out,
    at::Tensor& saveMean,
    at::Tensor& saveInvstd) {
  const auto [output, mean, invstd] = batchNorm(input, weight, bias, runningMean, runningVar, training, momentum, eps);
  out.resize_(output.sizes()).copy_(output);
  saveMean.resize_(mean.sizes()).copy_(mean);
  saveInvstd.resize_(invstd.sizes()).copy_(invstd);
  return {out, saveMean, saveInvstd};
}

[[maybe_unused]] const CpuVersion outVersion("native_batch_norm.out", boxed<batchNormOut>);

} // namespace
} // namespace openreg
