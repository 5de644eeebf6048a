// Losses of each element: smooth_l1_loss, huber_loss and binary_cross_entropy.
#include "ops/launch/elementwise.h"
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <ATen/TensorIterator.h>
#include <ATen/core/Reduction.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/PointwiseOps.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/huber_loss_backward_native.h>
#include <ATen/ops/huber_loss_native.h>
#include <ATen/ops/smooth_l1_loss_backward_native.h>
#include <ATen/ops/smooth_l1_loss_native.h>
#include <ATen/ops/sum.h>

namespace openreg {
namespace {

void smoothL1(at::TensorIteratorBase& iter, double beta) {
  launchElementwise(kernelFamily<"smooth_l1">, iter, {beta});
}
void smoothL1Backward(at::TensorIterator& iter, const at::Scalar& norm, double beta) {
  launchElementwise(kernelFamily<"smooth_l1_backward">, iter, {norm, beta});
}
void huber(at::TensorIterator& iter, double delta) {
  launchElementwise(kernelFamily<"huber">, iter, {delta});
}
void huberBackward(at::TensorIterator& iter, const at::Scalar& norm, double delta) {
  launchElementwise(kernelFamily<"huber_backward">, iter, {norm, delta});
}

/// What has no stub: the checks are those of PyTorch's functions.
void checkSizes(const at::Tensor& self, const at::Tensor& target) {
  TORCH_CHECK(
      self.sizes() == target.sizes(), "binary_cross_entropy: expected input and target of the same size, but got ",
      self.sizes(), " and ", target.sizes());
}

at::Tensor& binaryCrossEntropyOut(
    const at::Tensor& self,
    const at::Tensor& target,
    const OptionalTensor& weight,
    int64_t reduction,
    at::Tensor& out) {
  checkSizes(self, target);
  const auto factors = apartFrom(out, weight.value_or(at::Tensor()));
  auto losses = reduction == at::Reduction::None ? out : at::empty({0}, self.options());
  {
    auto iter = at::TensorIterator::borrowing_binary_op(losses, self, target);
    launchElementwise(kernelFamily<"binary_cross_entropy">, iter);
  }
  if (factors.defined()) {
    losses.mul_(factors);
  }
  if (reduction != at::Reduction::None) {
    copyResult(reduction == at::Reduction::Mean ? losses.mean() : losses.sum(), out);
  }
  return out;
}

at::Tensor
binaryCrossEntropy(const at::Tensor& self, const at::Tensor& target, const OptionalTensor& weight, int64_t reduction) {
  auto out = at::empty({0}, self.options());
  return binaryCrossEntropyOut(self, target, weight, reduction, out);
}

at::Tensor& binaryCrossEntropyBackwardOut(
    const at::Tensor& gradOutput,
    const at::Tensor& self,
    const at::Tensor& target,
    const OptionalTensor& weight,
    int64_t reduction,
    at::Tensor& gradInput) {
  checkSizes(self, target);
  const auto factors = apartFrom(gradInput, weight.value_or(at::Tensor()));
  auto iter = at::TensorIteratorConfig()
                  .add_output(gradInput)
                  .add_const_input(gradOutput)
                  .add_const_input(self)
                  .add_const_input(target)
                  .build();
  launchElementwise(kernelFamily<"binary_cross_entropy_backward">, iter);
  if (factors.defined()) {
    gradInput.mul_(factors);
  }
  if (reduction == at::Reduction::Mean) {
    gradInput.div_(self.numel());
  }
  return gradInput;
}

at::Tensor binaryCrossEntropyBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& self,
    const at::Tensor& target,
    const OptionalTensor& weight,
    int64_t reduction) {
  auto gradInput = at::empty(self.sizes(), self.options());
  return binaryCrossEntropyBackwardOut(gradOutput, self, target, weight, reduction, gradInput);
}

using SmoothL1Loss = Structured<at::native::structured_smooth_l1_loss_out>;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<SmoothL1Loss>(m, "smooth_l1_loss");
  implPlain<"smooth_l1_loss_backward.grad_input", at::native::smooth_l1_loss_backward_out>(m);
  implPlain<"huber_loss", at::native::huber_loss>(m);
  implPlain<"huber_loss.out", at::native::huber_loss_out>(m);
  implPlain<"huber_loss_backward.out", at::native::huber_loss_backward_out>(m);
  implPlain<"binary_cross_entropy", binaryCrossEntropy>(m);
  implPlain<"binary_cross_entropy.out", binaryCrossEntropyOut>(m);
  implPlain<"binary_cross_entropy_backward", binaryCrossEntropyBackward>(m);
  implPlain<"binary_cross_entropy_backward.grad_input", binaryCrossEntropyBackwardOut>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(smooth_l1_stub, &openreg::smoothL1)
REGISTER_PRIVATEUSE1_DISPATCH(smooth_l1_backward_stub, &openreg::smoothL1Backward)
REGISTER_PRIVATEUSE1_DISPATCH(huber_stub, &openreg::huber)
REGISTER_PRIVATEUSE1_DISPATCH(huber_backward_stub, &openreg::huberBackward)
} // namespace at::native
