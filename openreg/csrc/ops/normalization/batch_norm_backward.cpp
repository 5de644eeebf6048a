// The derivative of batch normalisation.
#include "ops/launch/arrays.h"
#include "ops/normalization/batch_norm.h"
#include "ops/structured/plain.h"

#include <kernels/normalization/normalization.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <array>
#include <tuple>

namespace openreg {
namespace {

using kernels::BatchNormBackwardArgs;

std::tuple<at::Tensor, at::Tensor, at::Tensor> batchNormBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& input,
    const OptionalTensor& weight,
    const OptionalTensor& runningMean,
    const OptionalTensor& runningVar,
    const OptionalTensor& saveMean,
    const OptionalTensor& saveInvstd,
    bool training,
    double eps,
    std::array<bool, 3> outputMask) {
  const auto type = checkParameters("native_batch_norm_backward", input, {&weight, &runningMean, &runningVar});
  BatchNormBackwardArgs args{};
  describe(args, input);
  args.training = training ? 1 : 0;
  const auto parameters = input.options().dtype(isGiven(weight) ? weight->scalar_type() : type);
  std::array<at::Tensor, 3> grads;
  if (outputMask[0]) {
    grads[0] = at::empty_like(input, input.suggest_memory_format());
  }
  if (outputMask[1]) {
    grads[1] = at::empty({input.size(1)}, parameters);
  }
  if (outputMask[2]) {
    grads[2] = at::empty({input.size(1)}, parameters);
  }
  const ArrayOutput gradInput(grads[0]), gradWeight(grads[1]), gradBias(grads[2]);
  const auto mean = asArray(training ? saveMean : runningMean);
  const auto invstd = training ? asArray(saveInvstd) : asArray(runningVar).add(eps).rsqrt();
  launchOverArrays(
      kernelFamily<"batch_norm_backward">, input, args,
      {reads("grad_out", &BatchNormBackwardArgs::gradOutput, gradOutput),
       reads("input", &BatchNormBackwardArgs::input, input),
       reads("weight", &BatchNormBackwardArgs::weight, weight, Fit::Parameter),
       reads("save_mean", &BatchNormBackwardArgs::mean, mean, Fit::Parameter),
       reads("save_invstd", &BatchNormBackwardArgs::invstd, invstd, Fit::Parameter),
       writes("grad_input", &BatchNormBackwardArgs::gradInput, gradInput),
       writes("grad_weight", &BatchNormBackwardArgs::gradWeight, gradWeight),
       writes("grad_bias", &BatchNormBackwardArgs::gradBias, gradBias)});
  gradInput.finish();
  gradWeight.finish();
  gradBias.finish();
  return {grads[0], grads[1], grads[2]};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"native_batch_norm_backward", batchNormBackward>(m);
}

} // namespace
} // namespace openreg
