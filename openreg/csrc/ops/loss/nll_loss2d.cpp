// nll_loss of images: each pixel is a guess, so it is nll_loss of as many rows.
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/nll_loss_backward.h>
#include <ATen/ops/nll_loss_forward.h>
#include <torch/library.h>

#include <tuple>

namespace openreg {
namespace {

void checkShapes(const at::Tensor& self, const at::Tensor& target) {
  TORCH_CHECK(
      target.dim() == 3,
      "only batches of spatial targets supported (3D tensors) but got targets of dimension: ", target.dim());
  TORCH_CHECK(
      self.dim() == 4,
      "only batches of spatial inputs supported (4D tensors), but got input of dimension: ", self.dim());
  TORCH_CHECK(
      self.size(0) == target.size(0) && self.size(2) == target.size(1) && self.size(3) == target.size(2),
      "size mismatch (got input: ", self.sizes(), " , target: ", target.sizes());
}

/// A row of classes for each pixel.
at::Tensor rows(const at::Tensor& images) {
  return images.permute({0, 2, 3, 1}).reshape({-1, images.size(1)});
}

std::tuple<at::Tensor, at::Tensor> nllLoss2d(
    const at::Tensor& self,
    const at::Tensor& target,
    const OptionalTensor& weight,
    int64_t reduction,
    int64_t ignoreIndex) {
  checkShapes(self, target);
  auto [loss, totalWeight] = at::nll_loss_forward(rows(self), target.reshape(-1), weight, reduction, ignoreIndex);
  return {reduction == at::Reduction::None ? loss.view(target.sizes()) : loss, totalWeight};
}

std::tuple<at::Tensor&, at::Tensor&> nllLoss2dOut(
    const at::Tensor& self,
    const at::Tensor& target,
    const OptionalTensor& weight,
    int64_t reduction,
    int64_t ignoreIndex,
    at::Tensor& out,
    at::Tensor& totalWeight) {
  const auto [loss, total] = nllLoss2d(self, target, weight, reduction, ignoreIndex);
  resizeOutput(out, loss.sizes(), {}, loss.options());
  resizeOutput(totalWeight, total.sizes(), {}, total.options());
  out.copy_(loss);
  totalWeight.copy_(total);
  return {out, totalWeight};
}

at::Tensor nllLoss2dBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& self,
    const at::Tensor& target,
    const OptionalTensor& weight,
    int64_t reduction,
    int64_t ignoreIndex,
    const at::Tensor& totalWeight) {
  checkShapes(self, target);
  const auto grad = reduction == at::Reduction::None ? gradOutput.reshape(-1) : gradOutput;
  const auto gradRows =
      at::nll_loss_backward(grad, rows(self), target.reshape(-1), weight, reduction, ignoreIndex, totalWeight);
  return gradRows.view({self.size(0), self.size(2), self.size(3), self.size(1)}).permute({0, 3, 1, 2}).contiguous();
}

at::Tensor& nllLoss2dBackwardOut(
    const at::Tensor& gradOutput,
    const at::Tensor& self,
    const at::Tensor& target,
    const OptionalTensor& weight,
    int64_t reduction,
    int64_t ignoreIndex,
    const at::Tensor& totalWeight,
    at::Tensor& gradInput) {
  const auto grad = nllLoss2dBackward(gradOutput, self, target, weight, reduction, ignoreIndex, totalWeight);
  resizeOutput(gradInput, grad.sizes(), {}, grad.options());
  return gradInput.copy_(grad);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"nll_loss2d_forward", nllLoss2d>(m);
  implPlain<"nll_loss2d_forward.output", nllLoss2dOut>(m);
  implPlain<"nll_loss2d_backward", nllLoss2dBackward>(m);
  implPlain<"nll_loss2d_backward.grad_input", nllLoss2dBackwardOut>(m);
}

} // namespace
} // namespace openreg
