// Elements that a mask of booleans chooses.
#include "ops/indexing/nonzero_search.h"
#include "ops/launch/elementwise.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/ScalarType.h>
#include <torch/library.h>

namespace openreg {
namespace {

void checkMaskDevice(const char* op, const at::Tensor& self, const at::Tensor& mask) {
  TORCH_CHECK(
      self.device() == mask.device(), "expected self and mask to be on the same device, but got mask on ",
      mask.device(), " and self on ", self.device());
  TORCH_CHECK(
      mask.scalar_type() == at::kBool, op, " only supports boolean masks, but got mask with dtype ",
      mask.scalar_type());
}

/// `value` may be on the device or a number of the CPU; neither is read here.
at::Tensor& maskedFill(at::Tensor& self, const at::Tensor& mask, const at::Tensor& value) {
  checkMaskDevice("masked_fill_", self, mask);
  if (at::has_internal_overlap(self) == at::MemOverlap::Yes) {
    TORCH_WARN(
        "Use of masked_fill_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
        "operation. This also applies to advanced indexing e.g. tensor[mask] = scalar");
  }
  at::assert_no_partial_overlap(self, mask);
  const auto iter = at::TensorIteratorConfig()
                        .allow_cpu_scalars(true)
                        .set_check_mem_overlap(false) // deprecated, but allowed
                        .check_all_same_dtype(false)
                        .resize_outputs(false)
                        .add_output(self)
                        .add_const_input(mask)
                        .add_const_input(value)
                        .add_const_input(self)
                        .build();
  launchElementwise(kernelFamily<"where">, iter, self.scalar_type());
  return self;
}

at::Tensor& maskedFillWithTensor(at::Tensor& self, const at::Tensor& mask, const at::Tensor& value) {
  TORCH_CHECK(
      value.dim() == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ", value.dim(),
      " dimension(s).");
  TORCH_CHECK(
      self.is_complex() || !value.is_complex(), "value cannot be converted to type ", self.scalar_type(),
      " without overflow");
  return maskedFill(self, mask, value);
}

at::Tensor& maskedFillWithScalar(at::Tensor& self, const at::Tensor& mask, const at::Scalar& value) {
  // What the type cannot hold is an error here.
  return maskedFill(self, mask, at::empty({}, at::device(at::kCPU).dtype(self.scalar_type())).fill_(value));
}

at::Tensor maskedSelect(const at::Tensor& self, const at::Tensor& mask) {
  TORCH_CHECK(mask.scalar_type() == at::kBool, "masked_select: expected BoolTensor for mask");
  const auto [chosen, from] = at::expand_outplace(mask, self);
  NonzeroSearch search(*chosen);
  const auto selected = at::empty({search.count()}, self.options()); // waits for the device
  search.putSelected(from->contiguous(), selected);
  return selected;
}

at::Tensor& maskedSelectOut(const at::Tensor& self, const at::Tensor& mask, at::Tensor& out) {
  TORCH_CHECK(
      self.scalar_type() == out.scalar_type(), "masked_select(): self and result must have the same scalar type");
  at::assert_no_internal_overlap(out);
  at::assert_no_overlap(out, self);
  at::assert_no_overlap(out, mask);
  return copyResult(maskedSelect(self, mask), out);
}

at::Tensor& maskedScatter(at::Tensor& self, const at::Tensor& mask, const at::Tensor& source) {
  TORCH_CHECK(
      self.scalar_type() == source.scalar_type(),
      "masked_scatter: expected self and source to have same dtypes but got ", self.scalar_type(), " and ",
      source.scalar_type());
  TORCH_CHECK(
      mask.scalar_type() == at::kBool, "masked_scatter_ only supports boolean masks, but got mask with dtype ",
      mask.scalar_type());
  at::assert_no_internal_overlap(self);
  const auto chosen = at::expand_inplace(self, mask, "masked_scatter_");
  if (self.numel() == 0) {
    return self;
  }
  // The first chosen element gets the source's first element, and so on. All others get what is put in front of it.
  const auto flags = chosen->reshape({-1});
  const auto number = flags.cumsum(0).mul_(flags);
  const auto values = at::cat({at::zeros({1}, source.options()), source.reshape({-1})});
  const auto taken = at::gather(values, 0, number).view(self.sizes());
  return self.copy_(at::where(*chosen, taken, self));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implNative(m, "masked_fill_.Scalar", maskedFillWithScalar);
  implNative(m, "masked_fill_.Tensor", maskedFillWithTensor);
  implPlain<"masked_select", maskedSelect>(m);
  implPlain<"masked_select.out", maskedSelectOut>(m);
  implPlain<"masked_scatter_", maskedScatter>(m);
}

} // namespace
} // namespace openreg
