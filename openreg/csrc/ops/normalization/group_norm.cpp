// Group normalisation: PyTorch's functions check the arguments and make the outputs; the computing is ours.
#include "ops/launch/arrays.h"
#include "ops/structured/plain.h"

#include <kernels/normalization/normalization.h>

#include <ATen/core/Tensor.h>
#include <ATen/native/group_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/native_group_norm_backward_native.h>
#include <ATen/ops/native_group_norm_native.h>
#include <ATen/ops/ones.h>
#include <torch/library.h>

#include <array>
#include <tuple>

namespace openreg {
namespace {

using kernels::GroupNormArgs;
using kernels::GroupNormBackwardArgs;

void groupNorm(
    const at::Tensor& input,
    const at::Tensor& weight,
    const at::Tensor& bias,
    int64_t batch,
    int64_t channels,
    int64_t positions,
    int64_t groups,
    double eps,
    at::Tensor& out,
    at::Tensor& mean,
    at::Tensor& rstd) {
  GroupNormArgs args{};
  args.batch = batch;
  args.groups = groups;
  args.channels = channels / groups;
  args.positions = positions;
  args.eps = eps;
  const ArrayOutput output(out), saveMean(mean), saveRstd(rstd);
  launchOverArrays(
      kernelFamily<"group_norm">, input, args,
      {reads("input", &GroupNormArgs::input, input), writes("output", &GroupNormArgs::output, output),
       reads("weight", &GroupNormArgs::weight, weight, Fit::Parameter),
       reads("bias", &GroupNormArgs::bias, bias, Fit::Parameter), writes("mean", &GroupNormArgs::mean, saveMean),
       writes("rstd", &GroupNormArgs::rstd, saveRstd)});
  output.finish();
  saveMean.finish();
  saveRstd.finish();
}

void groupNormBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& input,
    const at::Tensor& mean,
    const at::Tensor& rstd,
    const at::Tensor& weight,
    int64_t batch,
    int64_t channels,
    int64_t positions,
    int64_t groups,
    at::Tensor& gradInput,
    at::Tensor& gradWeight,
    at::Tensor& gradBias) {
  GroupNormBackwardArgs args{};
  args.batch = batch;
  args.groups = groups;
  args.channels = channels / groups;
  args.positions = positions;
  const auto sums = at::empty({2, batch, channels}, input.options().dtype(at::kDouble));
  const ArrayOutput toInput(gradInput), toWeight(gradWeight), toBias(gradBias);
  launchOverArrays(
      kernelFamily<"group_norm_backward">, input, args,
      {reads("grad_out", &GroupNormBackwardArgs::gradOutput, gradOutput),
       reads("input", &GroupNormBackwardArgs::input, input),
       reads("weight", &GroupNormBackwardArgs::weight, weight, Fit::Parameter),
       reads("mean", &GroupNormBackwardArgs::mean, mean, Fit::Parameter),
       reads("rstd", &GroupNormBackwardArgs::rstd, rstd, Fit::Parameter),
       writes("grad_input", &GroupNormBackwardArgs::gradInput, toInput),
       writes("grad_weight", &GroupNormBackwardArgs::gradWeight, toWeight),
       writes("grad_bias", &GroupNormBackwardArgs::gradBias, toBias),
       writes("sums", &GroupNormBackwardArgs::sums, sums)});
  toInput.finish();
  toWeight.finish();
  toBias.finish();
}

/// PyTorch's own makes the bias's gradient like the weight. Without one it does as with a weight of ones.
std::tuple<at::Tensor, at::Tensor, at::Tensor> nativeGroupNormBackward(
    const at::Tensor& grad,
    const at::Tensor& input,
    const at::Tensor& mean,
    const at::Tensor& rstd,
    const std::optional<at::Tensor>& weight,
    int64_t n,
    int64_t channels,
    int64_t positions,
    int64_t groups,
    std::array<bool, 3> outputMask) {
  if ((weight && weight->defined()) || !(outputMask[1] || outputMask[2])) {
    return at::native::native_group_norm_backward(
        grad, input, mean, rstd, weight, n, channels, positions, groups, outputMask);
  }
  return at::native::native_group_norm_backward(
      grad, input, mean, rstd, at::ones({channels}, mean.options()), n, channels, positions, groups, outputMask);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"native_group_norm", at::native::native_group_norm>(m);
  implPlain<"native_group_norm_backward", nativeGroupNormBackward>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(GroupNormKernel, &openreg::groupNorm)
REGISTER_PRIVATEUSE1_DISPATCH(GroupNormBackwardKernel, &openreg::groupNormBackward)
} // namespace at::native
