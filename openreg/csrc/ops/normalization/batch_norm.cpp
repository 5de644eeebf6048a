// Batch normalisation, with and without running values.
#include "ops/normalization/batch_norm.h"
#include "ops/launch/arrays.h"
#include "ops/structured/plain.h"

#include <kernels/normalization/normalization.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <tuple>

namespace openreg {
namespace {

using kernels::BatchNormArgs;

using Outputs = std::tuple<at::Tensor&, at::Tensor&, at::Tensor&>;

Outputs batchNormOut(
    const at::Tensor& input,
    const OptionalTensor& weight,
    const OptionalTensor& bias,
    const OptionalTensor& runningMean,
    const OptionalTensor& runningVar,
    bool training,
    double momentum,
    double eps,
    at::Tensor& out,
    at::Tensor& mean,
    at::Tensor& invstd) {
  const auto type = checkParameters("native_batch_norm", input, {&weight, &bias, &runningMean, &runningVar});
  TORCH_CHECK_VALUE(
      isGiven(runningMean) == isGiven(runningVar),
      "running_mean and running_var must either both be None or neither be None");
  TORCH_CHECK(
      training || (isGiven(runningMean) && isGiven(runningVar)),
      "batch_norm: expected running_mean and running_var to be given in evaluation mode");
  TORCH_CHECK(
      !training || input.numel() > 0,
      "input tensor must have at least one element, but got input_sizes = ", input.sizes());
  BatchNormArgs args{};
  describe(args, input);
  args.training = training ? 1 : 0;
  args.momentum = momentum;
  args.eps = eps;
  resizeOutput(out, input.sizes(), {}, input.options());
  const auto kept = training ? input.size(1) : 0; // In evaluation, nothing that is not known.
  resizeOutput(mean, kept, {}, input.options().dtype(type));
  resizeOutput(invstd, kept, {}, input.options().dtype(type));
  const ArrayOutput output(out), saveMean(mean), saveInvstd(invstd);
  const auto runningMeanArray = asArray(runningMean), runningVarArray = asArray(runningVar);
  launchOverArrays(
      kernelFamily<"batch_norm">, input, args,
      {reads("input", &BatchNormArgs::input, input), writes("output", &BatchNormArgs::output, output),
       reads("weight", &BatchNormArgs::weight, weight, Fit::Parameter),
       reads("bias", &BatchNormArgs::bias, bias, Fit::Parameter),
       writes("running_mean", &BatchNormArgs::runningMean, runningMeanArray),
       writes("running_var", &BatchNormArgs::runningVar, runningVarArray),
       writes("mean", &BatchNormArgs::mean, saveMean), writes("invstd", &BatchNormArgs::invstd, saveInvstd)});
  output.finish();
  saveMean.finish();
  saveInvstd.finish();
  const auto keep = [training](const OptionalTensor& running, const at::Tensor& array) {
    if (training && isGiven(running) && !array.is_same(*running)) {
      running->copy_(array);
    }
  };
  keep(runningMean, runningMeanArray);
  keep(runningVar, runningVarArray);
  return {out, mean, invstd};
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
  auto out = at::empty_like(input, input.suggest_memory_format());
  const auto type = checkParameters("native_batch_norm", input, {&weight, &bias, &runningMean, &runningVar});
  auto mean = at::empty({0}, input.options().dtype(type));
  auto invstd = at::empty({0}, input.options().dtype(type));
  batchNormOut(input, weight, bias, runningMean, runningVar, training, momentum, eps, out, mean, invstd);
  return {out, mean, invstd};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"native_batch_norm", batchNorm>(m);
  implPlain<"native_batch_norm.out", batchNormOut>(m);
}

} // namespace
} // namespace openreg
