// multilabel_margin_loss: several targets for each row.
#include "ops/loss/margin_loss.h"
#include "ops/structured/plain.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

namespace openreg {
namespace {

std::tuple<at::Tensor, at::Tensor>
multilabelMarginLoss(const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
  const auto args = describeMarginLoss(self, target, /*multilabel=*/true);
  const auto isTarget = at::empty(target.sizes(), self.options());
  return {marginLoss(args, self, target, {}, reduction, isTarget), isTarget};
}

at::Tensor multilabelMarginLossBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& self,
    const at::Tensor& target,
    int64_t reduction,
    const at::Tensor& /*isTarget*/) {
  return marginLossBackward(
      describeMarginLoss(self, target, /*multilabel=*/true), gradOutput, self, target, {}, reduction);
}

std::tuple<at::Tensor&, at::Tensor&> multilabelMarginLossOut(
    const at::Tensor& self, const at::Tensor& target, int64_t reduction, at::Tensor& out, at::Tensor& isTarget) {
  const auto [loss, targets] = multilabelMarginLoss(self, target, reduction);
  return {copyResult(loss, out), copyResult(targets, isTarget)};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"multilabel_margin_loss_forward", multilabelMarginLoss>(m);
  implPlain<"multilabel_margin_loss_forward.output", multilabelMarginLossOut>(m);
  implPlain<"multilabel_margin_loss_backward", multilabelMarginLossBackward>(m);
  implPlain<"multilabel_margin_loss_backward.grad_input", IntoOutput<multilabelMarginLossBackward>::call>(m);
}

} // namespace
} // namespace openreg
