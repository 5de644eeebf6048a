// The kernels of margin losses, and what becomes of a batch's losses.
#include "ops/loss/margin_loss.h"
#include "ops/launch/arrays.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

namespace openreg {
namespace {

using kernels::MarginLossArgs;

} // namespace

MarginLossArgs describeMarginLoss(const at::Tensor& input, const at::Tensor& target, bool multilabel) {
  const auto dims = input.dim();
  TORCH_CHECK(
      (dims == 2 && input.size(1) != 0) || (dims == 1 && input.size(0) != 0) || dims == 0,
      "Expected non-empty vector or matrix with optional 0-dim batch size, but got: ", input.sizes());
  MarginLossArgs args{};
  args.rows = dims == 2 ? input.size(0) : 1;
  args.classes = dims == 0 ? 1 : input.size(-1);
  args.targets = multilabel ? args.classes : 1;
  args.power = 1;
  args.margin = 1;
  const bool fits = target.dim() == (multilabel ? dims : dims - 1) || (target.dim() <= 1 && dims <= 1);
  TORCH_CHECK(
      fits && target.numel() == args.rows * args.targets && (target.dim() < 2 || target.size(0) == args.rows),
      "inconsistent target size: ", target.sizes(), " for input of size: ", input.sizes());
  TORCH_CHECK(target.scalar_type() == at::kLong, "expected scalar type Long but found ", target.scalar_type());
  return args;
}

at::Tensor marginLoss(
    const MarginLossArgs& args,
    const at::Tensor& input,
    const at::Tensor& target,
    const OptionalTensor& weight,
    int64_t reduction,
    const at::Tensor& isTarget) {
  const auto losses = at::empty({args.rows}, input.options());
  const ArrayOutput lossOut(losses), isTargetOut(isTarget);
  launchOverArrays(
      kernelFamily<"margin_loss">, input, args,
      {reads("self", &MarginLossArgs::input, input), reads("target", &MarginLossArgs::target, target.contiguous()),
       reads("weight", &MarginLossArgs::weight, weight), writes("loss", &MarginLossArgs::loss, lossOut),
       writes("is_target", &MarginLossArgs::isTarget, isTargetOut)});
  lossOut.finish();
  isTargetOut.finish();
  if (reduction == at::Reduction::None) {
    return input.dim() < 2 ? losses.view({}) : losses;
  }
  return reduction == at::Reduction::Mean ? losses.mean() : losses.sum();
}

at::Tensor marginLossBackward(
    const MarginLossArgs& args,
    const at::Tensor& gradOutput,
    const at::Tensor& input,
    const at::Tensor& target,
    const OptionalTensor& weight,
    int64_t reduction) {
  const auto grad = reduction == at::Reduction::Mean ? gradOutput.div(args.rows) : gradOutput;
  const auto gradInput = at::empty_like(input, at::MemoryFormat::Contiguous);
  const ArrayOutput output(gradInput);
  launchOverArrays(
      kernelFamily<"margin_loss_backward">, input, args,
      {reads("self", &MarginLossArgs::input, input), reads("target", &MarginLossArgs::target, target.contiguous()),
       reads("weight", &MarginLossArgs::weight, weight),
       reads("grad_output", &MarginLossArgs::loss, grad.expand({args.rows})),
       writes("grad_input", &MarginLossArgs::gradInput, output)});
  output.finish();
  return gradInput;
}

} // namespace openreg
