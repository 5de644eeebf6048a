// RMS normalisation on the device, one launch each: forward, backward, into a given output, and with the residual.
#include "custom_ops/rms_norm.h"
#include "custom_ops/rows_launch.h"
#include "ops/launch/arrays.h"
#include "ops/structured/contiguous_output.h"
#include "ops/structured/plain.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

namespace openreg {
namespace {

using kernels::RmsNormArgs;
using kernels::RmsNormBackwardArgs;

at::Tensor contiguousOnDevice(const at::Tensor& like) {
  return makeOutput(like.sizes(), {}, like.options().memory_format(at::MemoryFormat::Contiguous));
}

/// An input as it is before `written` is: a copy if they share memory, unless they are the same rows. The kernel has
/// read a row when it writes it.
at::Tensor apartFromRows(const at::Tensor& written, const at::Tensor& input) {
  const bool same = written.const_data_ptr() == input.const_data_ptr() && written.strides() == input.strides();
  return same ? input : apartFrom(written, input);
}

// LITERALINCLUDE START: OWN KERNEL FORWARD
TwoTensors rmsNormForward(const at::Tensor& input, const at::Tensor& weight, double eps) {
  checkRmsNorm("rms_norm_forward", input, weight, eps);
  if (!hasKernel(kernelFamily<"rms_norm">, input)) {
    return composedRmsNorm(input, weight, eps);
  }
  auto kept = input.sizes().vec();
  kept.back() = 1;
  auto output = contiguousOnDevice(input);
  auto rstd = makeOutput(kept, {}, input.options().dtype(sumType(input.scalar_type())));
  RowsLaunch<RmsNormArgs> launch(kernelFamily<"rms_norm">, input);
  launch.args.eps = eps;
  launch.reads(&RmsNormArgs::input, input);
  launch.reads(&RmsNormArgs::weight, weight);
  launch.writes(&RmsNormArgs::output, output);
  launch.array(&RmsNormArgs::rstd, orAccessWrite, rstd);
  launch.run();
  return {output, rstd};
}
// LITERALINCLUDE END: OWN KERNEL FORWARD

TwoTensors rmsNormBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& input,
    const at::Tensor& weight,
    const at::Tensor& rstd,
    std::array<bool, 2> wanted) {
  checkRmsNormBackward(gradOutput, input, weight, rstd);
  if (!hasKernel(kernelFamily<"rms_norm_backward">, input)) {
    return composedRmsNormBackward(gradOutput, input, weight, rstd, wanted);
  }
  auto gradInput = wanted[0] ? contiguousOnDevice(input) : at::Tensor();
  auto gradWeight = wanted[1] ? contiguousOnDevice(weight) : at::Tensor();
  RowsLaunch<RmsNormBackwardArgs> launch(kernelFamily<"rms_norm_backward">, input);
  launch.reads(&RmsNormBackwardArgs::gradOutput, gradOutput);
  launch.reads(&RmsNormBackwardArgs::input, input);
  launch.reads(&RmsNormBackwardArgs::weight, weight);
  launch.writes(&RmsNormBackwardArgs::gradInput, gradInput);
  launch.writes(&RmsNormBackwardArgs::gradWeight, gradWeight);
  launch.array(&RmsNormBackwardArgs::rstd, orAccessRead, rstd);
  if (wanted[1]) {
    const auto sums = at::empty({kernels::kSummedParts, weight.numel()}, input.options().dtype(at::kDouble));
    launch.array(&RmsNormBackwardArgs::sums, orAccessRead | orAccessWrite, sums);
  }
  launch.run();
  return {gradInput, gradWeight};
}

// LITERALINCLUDE START: OWN KERNEL IN PLACE
at::Tensor addRmsNorm(at::Tensor& residual, const at::Tensor& input, const at::Tensor& weight, double eps) {
  checkAlike("add_rms_norm_", "input", input, "residual", residual);
  checkRmsNorm("add_rms_norm_", residual, weight, eps);
  at::assert_no_internal_overlap(residual);
  if (!hasKernel(kernelFamily<"rms_norm">, residual)) {
    return composedAddRmsNorm(residual, input, weight, eps);
  }
  auto output = contiguousOnDevice(residual);
  const auto rows = hasEvenRows(residual) ? residual : residual.contiguous();
  RowsLaunch<RmsNormArgs> launch(kernelFamily<"rms_norm">, residual);
  launch.args.eps = eps;
  launch.reads(&RmsNormArgs::input, apartFromRows(rows, input));
  launch.reads(&RmsNormArgs::weight, apartFrom(rows, weight));
  launch.writes(&RmsNormArgs::residual, rows);
  launch.writes(&RmsNormArgs::output, output);
  launch.run();
  if (!rows.is_same(residual)) {
    residual.copy_(rows);
  }
  return output;
}
// LITERALINCLUDE END: OWN KERNEL IN PLACE

// LITERALINCLUDE START: OWN KERNEL OUT
at::Tensor& rmsNormOut(const at::Tensor& input, const at::Tensor& weight, double eps, at::Tensor& out) {
  checkRmsNorm("rms_norm", input, weight, eps);
  checkRmsNormOut(input, out);
  if (!hasKernel(kernelFamily<"rms_norm">, input)) {
    return composedRmsNormOut(input, weight, eps, out);
  }
  resizeOutput(out, input.sizes(), {}, input.options());
  at::assert_no_internal_overlap(out);
  const ContiguousOutput output(out);
  RowsLaunch<RmsNormArgs> launch(kernelFamily<"rms_norm">, input);
  launch.args.eps = eps;
  launch.reads(&RmsNormArgs::input, apartFromRows(output.tensor(), input));
  launch.reads(&RmsNormArgs::weight, apartFrom(output.tensor(), weight));
  launch.writes(&RmsNormArgs::output, output.tensor());
  launch.run();
  output.finish();
  return out;
}
// LITERALINCLUDE END: OWN KERNEL OUT

TORCH_LIBRARY_IMPL(openreg, PrivateUse1, m) {
  implPlain<"openreg::rms_norm_forward", rmsNormForward>(m);
  implPlain<"openreg::rms_norm_backward", rmsNormBackward>(m);
  implPlain<"openreg::add_rms_norm_", addRmsNorm>(m);
  implPlain<"openreg::rms_norm.out", rmsNormOut>(m);
}

} // namespace
} // namespace openreg
