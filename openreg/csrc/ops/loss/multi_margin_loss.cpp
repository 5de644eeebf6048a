// multi_margin_loss: one target for each row.
#include "ops/loss/margin_loss.h"
#include "ops/structured/plain.h"

#include <torch/library.h>

namespace openreg {
namespace {

using kernels::MarginLossArgs;

MarginLossArgs describe(
    const at::Tensor& input,
    const at::Tensor& target,
    const at::Scalar& power,
    const at::Scalar& margin,
    const OptionalTensor& weight) {
  auto args = describeMarginLoss(input, target, /*multilabel=*/false);
  args.power = power.to<int64_t>();
  args.margin = margin.to<double>();
  TORCH_CHECK(args.power == 1 || args.power == 2, "only p == 1 and p == 2 supported");
  TORCH_CHECK(
      !weight || !weight->defined() || (weight->dim() <= 1 && weight->numel() == args.classes),
      "inconsistent weight size: ", weight->sizes(), " for ", args.classes, " classes");
  return args;
}

at::Tensor multiMarginLoss(
    const at::Tensor& self,
    const at::Tensor& target,
    const at::Scalar& p,
    const at::Scalar& margin,
    const OptionalTensor& weight,
    int64_t reduction) {
  return marginLoss(describe(self, target, p, margin, weight), self, target, weight, reduction);
}

at::Tensor multiMarginLossBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& self,
    const at::Tensor& target,
    const at::Scalar& p,
    const at::Scalar& margin,
    const OptionalTensor& weight,
    int64_t reduction) {
  return marginLossBackward(describe(self, target, p, margin, weight), gradOutput, self, target, weight, reduction);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"multi_margin_loss", multiMarginLoss>(m);
  implPlain<"multi_margin_loss.out", IntoOutput<multiMarginLoss>::call>(m);
  implPlain<"multi_margin_loss_backward", multiMarginLossBackward>(m);
  implPlain<"multi_margin_loss_backward.grad_input", IntoOutput<multiMarginLossBackward>::call>(m);
}

} // namespace
} // namespace openreg
