// index_select and index_fill: whole slices, where a vector of indices says.
#include "ops/indexing/indexing.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/IndexKernel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_fill_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

/// A vector of indices as one that has the dimensions of `like` and their sizes, except for `dim`.
at::Tensor alongDim(const at::Tensor& index, int64_t dim, const at::Tensor& like) {
  if (like.dim() == 0) {
    return index.reshape({});
  }
  auto sizes = like.sizes().vec();
  sizes[dim] = index.numel();
  std::vector<int64_t> shape(sizes.size(), 1);
  shape[dim] = index.numel();
  return index.reshape(shape).expand(sizes);
}

at::Tensor& indexSelectOut(const at::Tensor& self, int64_t dim, const at::Tensor& index, at::Tensor& out) {
  dim = c10::maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK_INDEX(index.dim() <= 1, "index_select(): Index is supposed to be a vector");
  TORCH_CHECK(
      self.dim() != 0 || index.dim() == 0 || index.numel() == 1,
      "index_select(): Index to scalar can have only 1 value, got ", index.numel(), " value(s)");
  TORCH_CHECK(
      index.scalar_type() == at::kLong || index.scalar_type() == at::kInt,
      "index_select(): Expected dtype int32 or int64 for index");
  TORCH_CHECK(
      self.scalar_type() == out.scalar_type(), "index_select(): self and result must have the same scalar type");
  TORCH_CHECK(
      self.dim() == 0 || self.size(dim) > 0 || index.numel() == 0,
      "index_select(): self indexing axis dim should be positive");
  at::assert_no_internal_overlap(out);
  at::assert_no_overlap(out, self);
  at::assert_no_overlap(out, index);
  auto sizes = self.sizes().vec();
  if (!sizes.empty()) {
    sizes[dim] = index.numel();
  }
  resizeOutput(out, sizes, {}, self.options());
  launchAlong(Indexing::Read, out, self, dim, alongDim(index, dim, out));
  return out;
}

at::Tensor indexSelect(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
  auto out = at::empty({0}, self.options());
  return indexSelectOut(self, dim, index, out);
}

at::Tensor& indexFillWithTensor(at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& value) {
  TORCH_CHECK(
      value.dim() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ", value.dim(),
      " dimension(s).");
  if (value.is_cpu()) {
    return at::native::index_fill_(self, dim, index, value.item());
  }
  SameDevice("index_fill_.int_Tensor").all(self, dim, index, value);
  TORCH_CHECK_INDEX(
      index.scalar_type() == at::kLong || index.scalar_type() == at::kInt,
      "index_fill_(): Expected dtype int32/int64 for index.");
  TORCH_CHECK(index.dim() <= 1, "Index has to be a vector/scalar");
  at::assert_no_internal_overlap(self);
  dim = c10::maybe_wrap_dim(dim, self.dim());
  const auto where = alongDim(index, dim, self);
  // Not read on the host, which would wait for it.
  launchAlong(Indexing::Write, value.to(self.scalar_type()).expand(where.sizes()), self, dim, where, true);
  return self;
}

void fillKernel(at::TensorIterator& iter, int64_t dim, int64_t size, int64_t stride, const at::Scalar& value) {
  const int64_t distance = stride * iter.element_size(0);
  const auto values = at::full({}, value, iter.tensor(0).options());
  const auto where = iter.tensor(1).to(at::kLong);
  const auto all = at::TensorIteratorConfig()
                       .set_check_mem_overlap(false)
                       .check_all_same_dtype(false)
                       .resize_outputs(false)
                       .add_output(iter.tensor(0))
                       .add_const_input(where)
                       .add_const_input(values)
                       .build();
  launchIndexing(
      Indexing::Write, all, {.dense = 2, .indexed = 0, .firstIndex = 1},
      {.sizes = size, .strides = distance, .wraps = true, .dimension = dim});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"index_select", indexSelect>(m);
  implPlain<"index_select.out", indexSelectOut>(m);
  implPlain<
      "index_fill_.int_Scalar",
      static_cast<at::Tensor& (*)(at::Tensor&, int64_t, const at::Tensor&, const at::Scalar&)>(
          at::native::index_fill_)>(m);
  implNative(m, "index_fill_.int_Tensor", indexFillWithTensor); // its value may be on the CPU
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(index_fill_stub, &openreg::fillKernel)
} // namespace at::native
