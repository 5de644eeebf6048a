// The names that torch.compile and torch.export give batch normalisation: one for each way of treating running values.
#include "ops/normalization/batch_norm.h"
#include "ops/structured/plain.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/var_mean.h>
#include <torch/library.h>

#include <array>
#include <tuple>

namespace openreg {
namespace {

using ThreeTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using FourTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using Outputs = std::tuple<at::Tensor&, at::Tensor&, at::Tensor&>;

ThreeTensors legit(
    const at::Tensor& input,
    const OptionalTensor& weight,
    const OptionalTensor& bias,
    at::Tensor& runningMean,
    at::Tensor& runningVar,
    bool training,
    double momentum,
    double eps) {
  return at::native_batch_norm(input, weight, bias, runningMean, runningVar, training, momentum, eps);
}

Outputs legitOut(
    const at::Tensor& input,
    const OptionalTensor& weight,
    const OptionalTensor& bias,
    at::Tensor& runningMean,
    at::Tensor& runningVar,
    bool training,
    double momentum,
    double eps,
    at::Tensor& out,
    at::Tensor& mean,
    at::Tensor& invstd) {
  return at::native_batch_norm_out(
      out, mean, invstd, input, weight, bias, runningMean, runningVar, training, momentum, eps);
}

ThreeTensors noStats(
    const at::Tensor& input,
    const OptionalTensor& weight,
    const OptionalTensor& bias,
    bool training,
    double momentum,
    double eps) {
  return at::native_batch_norm(input, weight, bias, {}, {}, training, momentum, eps);
}

Outputs noStatsOut(
    const at::Tensor& input,
    const OptionalTensor& weight,
    const OptionalTensor& bias,
    bool training,
    double momentum,
    double eps,
    at::Tensor& out,
    at::Tensor& mean,
    at::Tensor& invstd) {
  return at::native_batch_norm_out(out, mean, invstd, input, weight, bias, {}, {}, training, momentum, eps);
}

FourTensors withUpdate(
    const at::Tensor& input,
    const OptionalTensor& weight,
    const OptionalTensor& bias,
    at::Tensor& runningMean,
    at::Tensor& runningVar,
    double momentum,
    double eps) {
  auto [out, mean, invstd] =
      at::native_batch_norm(input, weight, bias, runningMean, runningVar, /*training=*/true, momentum, eps);
  // What some libraries keep for the backward pass; ours needs nothing.
  return {out, mean, invstd, at::empty({0}, input.options().dtype(at::kByte))};
}

FourTensors noUpdate(
    const at::Tensor& input,
    const OptionalTensor& weight,
    const OptionalTensor& bias,
    const OptionalTensor& runningMean,
    const OptionalTensor& runningVar,
    double momentum,
    double eps) {
  auto [out, mean, invstd] =
      at::native_batch_norm(input, weight, bias, runningMean, runningVar, /*training=*/false, momentum, eps);
  return {out, mean, invstd, at::empty({0}, input.options().dtype(at::kByte))};
}

/// Mean and variance of each channel; running values are written to, although the schema doesn't say so.
std::tuple<at::Tensor, at::Tensor> updateStats(
    const at::Tensor& input, const OptionalTensor& runningMean, const OptionalTensor& runningVar, double momentum) {
  checkParameters("aten::batch_norm_update_stats", input, {&runningMean, &runningVar});
  at::DimVector others;
  for (int64_t i = 0; i < input.dim(); ++i) {
    if (i != 1) {
      others.push_back(i);
    }
  }
  auto [var, mean] = at::var_mean(input, others, /*correction=*/0);
  const auto count = static_cast<double>(input.numel()) / static_cast<double>(input.size(1));
  if (isGiven(runningMean)) {
    runningMean->mul_(1 - momentum).add_(mean, momentum);
  }
  if (isGiven(runningVar)) { // That of all numbers, of which these are some.
    runningVar->mul_(1 - momentum).add_(var, momentum * count / (count - 1));
  }
  return {mean, var};
}

ThreeTensors batchNormVariantBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& input,
    const at::Tensor& weight,
    const OptionalTensor& runningMean,
    const OptionalTensor& runningVar,
    const OptionalTensor& saveMean,
    const OptionalTensor& saveInvstd,
    bool update,
    double eps,
    std::array<bool, 3> outputMask,
    const at::Tensor& /*reserve*/) {
  return at::native_batch_norm_backward(
      gradOutput, input, weight, runningMean, runningVar, saveMean, saveInvstd, update, eps, outputMask);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"_native_batch_norm_legit", legit>(m);
  implPlain<"_native_batch_norm_legit.out", legitOut>(m);
  implPlain<"_native_batch_norm_legit.no_stats", noStats>(m);
  implPlain<"_native_batch_norm_legit.no_stats_out", noStatsOut>(m);
  implPlain<"_batch_norm_with_update", withUpdate>(m);
  implPlain<"_batch_norm_no_update", noUpdate>(m);
  implPlain<"batch_norm_update_stats", updateStats>(m);
  implPlain<"batch_norm_backward", batchNormVariantBackward>(m);
}

} // namespace
} // namespace openreg
