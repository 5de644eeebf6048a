// Layer normalisation.
#include "ops/launch/arrays.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <kernels/normalization/normalization.h>

#include <ATen/core/Tensor.h>
#include <ATen/native/layer_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <array>
#include <cmath>
#include <tuple>

namespace openreg {
namespace {

using ThreeTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using kernels::LayerNormArgs;
using kernels::LayerNormBackwardArgs;

/// Checks the types. @return The type of mean and deviation: halves may come with float parameters.
at::ScalarType checkTypes(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  auto type = input.scalar_type();
  for (const auto* parameter : {&weight, &bias}) {
    if (parameter->defined() && parameter->scalar_type() != input.scalar_type()) {
      type = at::kFloat;
      TORCH_CHECK(
          at::isReducedFloatingType(input.scalar_type()) && parameter->scalar_type() == type,
          "mixed dtype: all inputs must share same datatype.");
    }
  }
  return type;
}

ThreeTensors layerNorm(
    const at::Tensor& input,
    at::IntArrayRef shape,
    const OptionalTensor& givenWeight,
    const OptionalTensor& givenBias,
    double eps) {
  const auto weight = givenWeight.value_or(at::Tensor()), bias = givenBias.value_or(at::Tensor());
  const auto [rows, columns] = at::native::_check_layer_norm_inputs(input, shape, weight, bias);
  const auto type = checkTypes(input, weight, bias);
  c10::SmallVector<int64_t, 5> kept(input.sizes().begin(), input.sizes().end());
  std::fill(kept.end() - static_cast<std::ptrdiff_t>(shape.size()), kept.end(), 1);
  auto out = at::empty_like(input, at::MemoryFormat::Contiguous);
  auto mean = at::empty(kept, input.options().dtype(type));
  auto rstd = at::empty(kept, input.options().dtype(type));
  if (columns == 0) {
    mean.zero_();
    rstd.fill_(1 / std::sqrt(eps));
    return {out, mean, rstd};
  }
  LayerNormArgs args{};
  args.rows = rows;
  args.columns = columns;
  args.eps = eps;
  const ArrayOutput output(out), saveMean(mean), saveRstd(rstd);
  launchOverArrays(
      kernelFamily<"layer_norm">, input, args,
      {reads("input", &LayerNormArgs::input, input), writes("output", &LayerNormArgs::output, output),
       reads("weight", &LayerNormArgs::weight, weight, Fit::Parameter),
       reads("bias", &LayerNormArgs::bias, bias, Fit::Parameter), writes("mean", &LayerNormArgs::mean, saveMean),
       writes("rstd", &LayerNormArgs::rstd, saveRstd)});
  output.finish();
  saveMean.finish();
  saveRstd.finish();
  return {out, mean, rstd};
}

ThreeTensors layerNormBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& input,
    at::IntArrayRef shape,
    const at::Tensor& mean,
    const at::Tensor& rstd,
    const OptionalTensor& givenWeight,
    const OptionalTensor& givenBias,
    std::array<bool, 3> outputMask) {
  const auto weight = givenWeight.value_or(at::Tensor()), bias = givenBias.value_or(at::Tensor());
  const auto [rows, columns] = at::native::_check_layer_norm_inputs(input, shape, weight, bias);
  LayerNormBackwardArgs args{};
  args.rows = rows;
  args.columns = columns;
  const auto& parameter = weight.defined() ? weight : input;
  std::array<at::Tensor, 3> grads;
  if (outputMask[0]) {
    grads[0] = at::empty_like(input, at::MemoryFormat::Contiguous);
  }
  for (size_t i = 1; i < 3; ++i) {
    if (outputMask[i]) {
      grads[i] = at::empty(shape, parameter.options());
    }
  }
  at::Tensor sums;
  if (outputMask[1] || outputMask[2]) {
    sums = at::empty({kernels::kSummedParts, 2, columns}, input.options().dtype(at::kDouble));
  }
  const ArrayOutput gradInput(grads[0]), gradWeight(grads[1]), gradBias(grads[2]);
  launchOverArrays(
      kernelFamily<"layer_norm_backward">, input, args,
      {reads("grad_out", &LayerNormBackwardArgs::gradOutput, gradOutput),
       reads("input", &LayerNormBackwardArgs::input, input),
       reads("weight", &LayerNormBackwardArgs::weight, weight, Fit::Parameter),
       reads("mean", &LayerNormBackwardArgs::mean, mean, Fit::Parameter),
       reads("rstd", &LayerNormBackwardArgs::rstd, rstd, Fit::Parameter),
       writes("grad_input", &LayerNormBackwardArgs::gradInput, gradInput),
       writes("grad_weight", &LayerNormBackwardArgs::gradWeight, gradWeight),
       writes("grad_bias", &LayerNormBackwardArgs::gradBias, gradBias),
       writes("sums", &LayerNormBackwardArgs::sums, sums)});
  gradInput.finish();
  gradWeight.finish();
  gradBias.finish();
  return {grads[0], grads[1], grads[2]};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"native_layer_norm", layerNorm>(m);
  implPlain<"native_layer_norm_backward", layerNormBackward>(m);
}

} // namespace
} // namespace openreg
