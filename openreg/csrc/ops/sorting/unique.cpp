// unique: each element, or slice, once. How many there are decides the shapes, so these operators wait for the device.
#include "ops/launch/dtype.h"
#include "ops/launch/kernel.h"
#include "ops/sorting/sort.h"
#include "ops/structured/plain.h"

#include <kernels/launch/pointers.h>
#include <kernels/sorting/sort_rows.h>

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/any.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/sort.h>
#include <torch/library.h>

#include <algorithm>
#include <tuple>

namespace openreg {
namespace {

using ThreeTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

at::Tensor noIndices(const at::Tensor& self) {
  return at::empty({0}, self.options().dtype(at::kLong));
}

/// Of slices of which equal ones lie side by side, the first of each group.
/// @param order Where each was before it was sorted; undefined if it was not.
/// @return The slices, the number of each slice's group, and the groups' sizes; the latter empty unless wanted.
ThreeTensors
firstOfGroups(const at::Tensor& slices, int64_t dim, const at::Tensor& order, bool wantsInverse, bool wantsCounts) {
  const auto size = slices.size(dim);
  const auto isFirst = at::empty({size}, slices.options().dtype(at::kBool));
  isFirst.narrow(0, 0, 1).fill_(true);
  auto differs = isFirst.narrow(0, 1, size - 1);
  const auto next = slices.narrow(dim, 1, size - 1), before = slices.narrow(dim, 0, size - 1);
  if (slices.dim() == 1) {
    at::ne_out(differs, next, before);
  } else {
    at::any_out(differs, at::ne(next, before).movedim(dim, 0).flatten(1), 1);
  }
  auto inverse = noIndices(slices);
  if (wantsInverse) {
    inverse = isFirst.cumsum(0).sub_(1);
    if (order.defined()) {
      inverse = at::empty_like(inverse).scatter_(0, order, inverse);
    }
  }
  if (!wantsCounts && slices.dim() == 1) {
    return {slices.masked_select(isFirst), inverse, noIndices(slices)}; // waits for the device
  }
  const auto firsts = isFirst.nonzero().select(1, 0); // waits for the device
  auto counts = noIndices(slices);
  if (wantsCounts) {
    const auto ends = at::cat({firsts.narrow(0, 1, firsts.size(0) - 1), at::full({1}, size, firsts.options())});
    counts = ends.sub_(firsts);
  }
  return {slices.index_select(dim, firsts), inverse, counts};
}

ThreeTensors unique2(const at::Tensor& self, bool /*sorted*/, bool wantsInverse, bool wantsCounts) {
  if (self.numel() == 0) {
    return {at::empty({0}, self.options()), at::empty(self.sizes(), self.options().dtype(at::kLong)), noIndices(self)};
  }
  const auto [values, order] = at::sort(self.reshape({-1}), std::optional(true));
  auto [output, inverse, counts] = firstOfGroups(values, 0, order, wantsInverse, wantsCounts);
  return {output, wantsInverse ? inverse.view(self.sizes()) : inverse, counts};
}

std::tuple<at::Tensor, at::Tensor> unique(const at::Tensor& self, bool sorted, bool wantsInverse) {
  auto [output, inverse, counts] = unique2(self, sorted, wantsInverse, false);
  return {output, inverse};
}

/// Nothing if there are slices to compare, else the result.
std::optional<ThreeTensors> withoutSlices(const at::Tensor& self, int64_t dim) {
  const auto empty = std::count(self.sizes().begin(), self.sizes().end(), 0);
  if (self.size(dim) == 0) {
    TORCH_CHECK(empty == 1, "Number of zero sized dimensions is more than one, so unique cannot be applied ");
    return ThreeTensors{at::empty(self.sizes(), self.options()), noIndices(self), noIndices(self)};
  }
  TORCH_CHECK(empty == 0, "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
  return std::nullopt;
}

/// The order of rows: by the last column first, so that what is equal in an earlier one is in order already.
at::Tensor sortByColumns(const at::Tensor& rows) {
  auto order = at::arange(rows.size(0), rows.options().dtype(at::kLong));
  for (int64_t column = rows.size(1) - 1; column >= 0; --column) {
    const auto numbers = rows.select(1, column).index_select(0, order);
    order = order.index_select(0, std::get<1>(at::sort(numbers, /*stable=*/std::optional(true))));
  }
  return order;
}

/// The order of slices, the first differing element of which decides.
at::Tensor sortSlices(const at::Tensor& self, int64_t dim) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !self.is_complex(), "\"unique\" not implemented for '", c10::toString(self.scalar_type()), "'");
  const auto rows = self.movedim(dim, 0).reshape({self.size(dim), -1}).contiguous();
  const auto device = self.device().index();
  if (kernel<"sort_rows">.find(device) == nullptr && canSort(device)) {
    return sortByColumns(rows);
  }
  auto order = at::empty({self.size(dim)}, self.options().dtype(at::kLong));
  kernels::SortRowsArgs args{};
  args.order = order.mutable_data_ptr<int64_t>();
  args.in = rows.const_data_ptr();
  args.rows = rows.size(0);
  args.columns = rows.size(1);
  args.dtype = kernelDType(self.scalar_type(), "unique");
  const std::array pointers = {
      kernels::contiguousPointer(offsetof(kernels::SortRowsArgs, order), orAccessWrite, order.nbytes()),
      kernels::contiguousPointer(offsetof(kernels::SortRowsArgs, in), orAccessRead, rows.nbytes()),
  };
  launch(kernel<"sort_rows">, device, args, pointers);
  return order;
}

ThreeTensors uniqueDim(const at::Tensor& self, int64_t dim, bool /*sorted*/, bool wantsInverse, bool wantsCounts) {
  const auto slices = self.dim() == 0 ? self.unsqueeze(0) : self;
  dim = c10::maybe_wrap_dim(dim, slices.dim());
  if (auto found = withoutSlices(slices, dim)) {
    return *found;
  }
  const auto order = sortSlices(slices, dim);
  return firstOfGroups(slices.index_select(dim, order), dim, order, wantsInverse, wantsCounts);
}

ThreeTensors uniqueDimConsecutive(const at::Tensor& self, int64_t dim, bool wantsInverse, bool wantsCounts) {
  const auto slices = self.dim() == 0 ? self.unsqueeze(0) : self;
  dim = c10::maybe_wrap_dim(dim, slices.dim());
  if (auto found = withoutSlices(slices, dim)) {
    return *found;
  }
  return firstOfGroups(slices, dim, {}, wantsInverse, wantsCounts);
}

ThreeTensors
uniqueConsecutive(const at::Tensor& self, bool wantsInverse, bool wantsCounts, std::optional<int64_t> dim) {
  if (dim.has_value() && self.dim() > 1) {
    return uniqueDimConsecutive(self, *dim, wantsInverse, wantsCounts);
  }
  if (self.numel() == 0) {
    return {at::empty({0}, self.options()), at::empty(self.sizes(), self.options().dtype(at::kLong)), noIndices(self)};
  }
  auto [output, inverse, counts] = firstOfGroups(self.reshape({-1}), 0, {}, wantsInverse, wantsCounts);
  return {output, wantsInverse ? inverse.view(self.sizes()) : inverse, counts};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"_unique", unique>(m);
  implPlain<"_unique2", unique2>(m);
  implPlain<"unique_dim", uniqueDim>(m);
  implPlain<"unique_consecutive", uniqueConsecutive>(m);
  implPlain<"unique_dim_consecutive", uniqueDimConsecutive>(m);
}

} // namespace
} // namespace openreg
