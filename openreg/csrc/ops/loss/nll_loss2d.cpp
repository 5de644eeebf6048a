// nll_loss of images: each pixel is a guess.
#include "ops/loss/nll_loss.h"
#include "ops/structured/contiguous_output.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured.h"

#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <tuple>

namespace openreg {
namespace {

void check(const at::Tensor& self, const at::Tensor& target, const OptionalTensor& weight) {
  TORCH_CHECK(
      target.dim() == 3,
      "only batches of spatial targets supported (3D tensors) but got targets of dimension: ", target.dim());
  TORCH_CHECK(
      self.dim() == 4,
      "only batches of spatial inputs supported (4D tensors), but got input of dimension: ", self.dim());
  TORCH_CHECK(
      self.size(0) == target.size(0) && self.size(2) == target.size(1) && self.size(3) == target.size(2),
      "size mismatch (got input: ", self.sizes(), " , target: ", target.sizes());
  TORCH_CHECK(
      !weight || !weight->defined() || (weight->dim() == 1 && weight->numel() == self.size(1)),
      "weight tensor should be defined either for all ", self.size(1), " classes or no classes but got weight tensor ",
      "of shape: ", weight->sizes());
  checkNllTarget(target);
}

/// images × classes × pixels, of which the kernel needs one distance from a pixel to the next.
at::Tensor asImages(const at::Tensor& self) {
  return self.flatten(2);
}

std::tuple<at::Tensor, at::Tensor> nllLoss2d(
    const at::Tensor& self,
    const at::Tensor& target,
    const OptionalTensor& weight,
    int64_t reduction,
    int64_t ignoreIndex) {
  check(self, target, weight);
  const bool isReduced = reduction != at::Reduction::None;
  const auto loss = at::empty(isReduced ? at::IntArrayRef() : target.sizes(), self.options());
  const auto totalWeight = at::empty({}, self.options());
  launchNllLoss(
      kernelFamily<"nll_loss">, asImages(self), target.reshape(-1), asMetaWants(weight), reduction, ignoreIndex,
      isReduced ? loss : loss.view(-1), totalWeight);
  return {loss, totalWeight};
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
  return {copyResult(loss, out), copyResult(total, totalWeight)};
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
  check(self, target, weight);
  const bool isReduced = reduction != at::Reduction::None;
  TORCH_CHECK(
      isReduced ? gradOutput.numel() == 1 : gradOutput.sizes() == target.sizes(),
      "size mismatch (got grad_output: ", gradOutput.sizes(),
      ", expected: ", isReduced ? at::IntArrayRef() : target.sizes(), ")");
  TORCH_CHECK(
      totalWeight.numel() == 1, "expected total_weight to be a single element tensor, got: ", totalWeight.sizes(), " (",
      totalWeight.numel(), " elements)");
  resizeOutput(gradInput, self.sizes(), {}, self.options());
  const ContiguousOutput output(gradInput);
  launchNllLoss(
      kernelFamily<"nll_loss_backward">, asImages(output.tensor()), target.reshape(-1), asMetaWants(weight), reduction,
      ignoreIndex, gradOutput.reshape(-1), totalWeight);
  output.finish();
  return gradInput;
}

at::Tensor nllLoss2dBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& self,
    const at::Tensor& target,
    const OptionalTensor& weight,
    int64_t reduction,
    int64_t ignoreIndex,
    const at::Tensor& totalWeight) {
  auto gradInput = at::empty(self.sizes(), self.options());
  return nllLoss2dBackwardOut(gradOutput, self, target, weight, reduction, ignoreIndex, totalWeight, gradInput);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"nll_loss2d_forward", nllLoss2d>(m);
  implPlain<"nll_loss2d_forward.output", nllLoss2dOut>(m);
  implPlain<"nll_loss2d_backward", nllLoss2dBackward>(m);
  implPlain<"nll_loss2d_backward.grad_input", nllLoss2dBackwardOut>(m);
}

} // namespace
} // namespace openreg
