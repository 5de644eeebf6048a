// nll_loss, what cross_entropy ends in, and its derivative.
#include "ops/loss/nll_loss.h"

#include "ops/launch/dtype.h"
#include "ops/structured/forms.h"

#include <kernels/launch/pointers.h>
#include <kernels/loss/nll_loss.h>

#include <ATen/core/Reduction.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/nll_loss_backward_meta.h>
#include <ATen/ops/nll_loss_forward_meta.h>
#include <torch/library.h>

namespace openreg {
namespace {

/// @param tensor Only its first dimension counts.
kernels::Vector describe(const at::Tensor& tensor) {
  return {
      const_cast<void*>(tensor.const_data_ptr()), tensor.dim() == 0 ? 0 : tensor.stride(0) * tensor.element_size(),
      kernelDType(tensor.scalar_type(), kernelFamily<"nll_loss">.name())};
}

orPointerArg pointer(size_t offset, uint32_t access, const at::Tensor& tensor) {
  const auto size = tensor.element_size();
  c10::SmallVector<int64_t, 3> strides;
  for (const auto stride : tensor.strides()) {
    strides.push_back(stride * size);
  }
  return kernels::stridedPointer(
      offset, access, static_cast<int>(tensor.dim()), tensor.sizes().data(), strides.data(), size);
}

} // namespace

// LITERALINCLUDE START: LAUNCH NLL LOSS
void launchNllLoss(
    const KernelFamily& family,
    const at::Tensor& input,
    const at::Tensor& target,
    const at::OptionalTensorRef& weight,
    int64_t reduction,
    int64_t ignoreIndex,
    const at::Tensor& loss,
    const at::Tensor& totalWeight) {
  const auto device = input.device().index();
  const bool forward = &family == &kernelFamily<"nll_loss">;
  const auto apart = [&](const at::Tensor& tensor) {
    return forward ? apartFrom(totalWeight, apartFrom(loss, tensor)) : apartFrom(input, tensor);
  };
  const auto rows = forward ? apart(input) : input;
  const auto losses = forward ? loss : apart(loss), total = forward ? totalWeight : apart(totalWeight);
  const auto factors = weight.has_value() ? apart(*weight) : at::Tensor();
  const auto read = static_cast<uint32_t>(orAccessRead);
  const auto write = static_cast<uint32_t>(orAccessWrite);
  const bool isImages = rows.dim() == 3;
  kernels::NllLossArgs args{};
  args.input = describe(rows);
  args.images = isImages ? rows.size(0) : 1;
  args.pixels = rows.dim() == 1 ? 1 : rows.size(isImages ? 2 : 0);
  args.pixelStride = rows.dim() == 1 ? 0 : rows.stride(isImages ? 2 : 0) * rows.element_size();
  args.classes = rows.size(isImages ? 1 : -1);
  args.classStride = rows.stride(isImages ? 1 : -1) * rows.element_size();
  args.target = describe(target);
  args.loss = describe(losses);
  args.totalWeight = describe(total);
  args.ignoreIndex = ignoreIndex;
  args.reduction = static_cast<kernels::LossReduction>(reduction);
  if (reduction == at::Reduction::None && input.dim() == 1) {
    args.reduction = kernels::LossReduction::Sum; // without a batch, the sum of one loss
  }
  at::Tensor sums;
  if (forward && args.parts() > 1) {
    sums = at::empty({args.parts(), 2}, rows.options().dtype(at::kDouble));
    args.sums = sums.mutable_data_ptr<double>();
  }
  std::array pointers = {
      pointer(offsetof(kernels::NllLossArgs, input.data), forward ? read : write, rows),
      pointer(offsetof(kernels::NllLossArgs, target.data), read, target),
      pointer(offsetof(kernels::NllLossArgs, loss.data), forward ? write : read, losses),
      pointer(offsetof(kernels::NllLossArgs, totalWeight.data), forward ? write : read, total),
      orPointerArg{offsetof(kernels::NllLossArgs, weight.data), read, 0, 0},
      kernels::contiguousPointer(
          offsetof(kernels::NllLossArgs, sums), read | write, sums.defined() ? sums.nbytes() : 0),
  };
  if (factors.defined()) {
    args.weight = describe(factors);
    pointers[4] = pointer(offsetof(kernels::NllLossArgs, weight.data), read, factors);
  }
  launch(family.get(input.scalar_type(), device), device, args, pointers);
}
// LITERALINCLUDE END: LAUNCH NLL LOSS

void checkNllTarget(const at::Tensor& target) {
  TORCH_CHECK(
      target.scalar_type() == at::kLong || target.scalar_type() == at::kByte,
      "expected target dtype to be Long or Byte, but got ", target.scalar_type());
}

namespace {

struct NllLoss : at::meta::structured_nll_loss_forward {
  void impl(
      const at::Tensor& self,
      const at::Tensor& target,
      const at::OptionalTensorRef& weight,
      int64_t reduction,
      int64_t ignoreIndex,
      const at::Tensor& output,
      const at::Tensor& totalWeight) {
    checkNllTarget(target);
    launchNllLoss(kernelFamily<"nll_loss">, self, target, weight, reduction, ignoreIndex, output, totalWeight);
  }
};

struct NllLossBackward : at::meta::structured_nll_loss_backward {
  void impl(
      const at::Tensor& gradOutput,
      const at::Tensor& /*self*/,
      const at::Tensor& target,
      const at::OptionalTensorRef& weight,
      int64_t reduction,
      int64_t ignoreIndex,
      const at::Tensor& totalWeight,
      const at::Tensor& gradInput) {
    checkNllTarget(target);
    launchNllLoss(
        kernelFamily<"nll_loss_backward">, gradInput, target, weight, reduction, ignoreIndex, gradOutput, totalWeight);
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<NllLoss, "nll_loss_forward.output", 2>>(m, "nll_loss_forward", {"", "output"});
  implForms<Structured<NllLossBackward, "nll_loss_backward.grad_input">>(m, "nll_loss_backward", {"", "grad_input"});
}

} // namespace
} // namespace openreg
