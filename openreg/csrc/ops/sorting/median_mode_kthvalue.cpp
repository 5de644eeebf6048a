// kthvalue, median, nanmedian and mode: one element of each row, by its place in the order.
#include "ops/sorting/sort.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/ReduceOpsUtils.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/cummax.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <limits>
#include <tuple>

namespace openreg {
namespace {

using Outputs = std::tuple<at::Tensor&, at::Tensor&>;

// LITERALINCLUDE START: PLACES IN A SORTED ROW
/// Where in rows that are sorted along `dim` the element is that an operator finds, as gather() takes it.
using PlaceInSorted = at::Tensor (*)(const kernels::SortArgs& args, const at::Tensor& sorted, int64_t dim);

at::Tensor everywhere(int64_t place, const at::Tensor& sorted, int64_t dim) {
  auto sizes = sorted.sizes().vec();
  sizes[dim] = 1;
  return at::full(sizes, place, sorted.options().dtype(at::kLong));
}

at::Tensor kthPlace(const kernels::SortArgs& args, const at::Tensor& sorted, int64_t dim) {
  return everywhere(args.k - 1, sorted, dim);
}

/// What is not a number comes last, and is the median if one of it is there, unless it is ignored.
at::Tensor medianPlace(const kernels::SortArgs& args, const at::Tensor& sorted, int64_t dim) {
  if (!sorted.is_floating_point()) {
    return everywhere((sorted.size(dim) - 1) / 2, sorted, dim);
  }
  const auto numbers = at::sum(at::eq(sorted, sorted), dim, /*keepdim=*/true);
  const auto middle = at::div(at::clamp_min(at::sub(numbers, 1), 0), 2, "floor");
  return args.ignoresNan != 0 ? middle : at::where(at::eq(numbers, sorted.size(dim)), middle, numbers);
}

/// The end of the first of the longest runs of one element.
at::Tensor modePlace(const kernels::SortArgs& /*args*/, const at::Tensor& sorted, int64_t dim) {
  const int64_t others = sorted.size(dim) - 1;
  const auto element = sorted.narrow(dim, 1, others);
  const auto before = sorted.narrow(dim, 0, others);
  // Those that are not numbers are one run, too.
  const auto areNumbers = at::logical_or(at::eq(element, element), at::eq(before, before));
  auto along = c10::SmallVector<int64_t, 8>(sorted.dim(), 1);
  along[dim] = others + 1;
  const auto at = at::arange(others + 1, sorted.options().dtype(at::kLong)).view(along);
  auto begins = at::zeros_like(sorted, sorted.options().dtype(at::kLong));
  begins.narrow(dim, 1, others)
      .copy_(at::mul(at::logical_and(at::ne(element, before), areNumbers), at.narrow(dim, 1, others)));
  return at::argmax(at::sub(at, std::get<0>(at::cummax(begins, dim))), dim, /*keepdim=*/true);
}
// LITERALINCLUDE END: PLACES IN A SORTED ROW

/// Finds one element along `dim`, and where it is, for each of the others.
/// @param place For a device that has no kernel for it, but one that sorts.
Outputs findAlong(
    const Kernel& kernel,
    PlaceInSorted place,
    const kernels::SortArgs& args,
    const at::Tensor& self,
    int64_t dim,
    bool keepDim,
    at::Tensor& values,
    at::Tensor& indices) {
  dim = c10::maybe_wrap_dim(dim, self.dim());
  at::native::zero_numel_check_dims(self, dim, (std::string(kernel.name()) + "()").c_str());
  auto sizes = self.sizes().vec();
  if (!sizes.empty()) {
    sizes[dim] = 1;
    if (!keepDim) {
      sizes.erase(sizes.begin() + dim);
    }
  }
  resizeOutput(values, sizes, {}, self.options());
  resizeOutput(indices, sizes, {}, self.options().dtype(at::kLong));
  const auto device = self.device().index();
  if (kernel.find(device) == nullptr && canSort(device) && values.numel() > 0) {
    const auto [sorted, from] =
        at::sort(self.dim() == 0 ? self.unsqueeze(0) : self, /*stable=*/true, dim, /*descending=*/false);
    const auto found = place(args, sorted, dim);
    values.copy_(sorted.gather(dim, found).view(sizes));
    indices.copy_(from.gather(dim, found).view(sizes));
    return {values, indices};
  }
  const bool isReduced = !keepDim && self.dim() > 0;
  launchSort(
      kernel, args, self, dim, isReduced ? values.unsqueeze(dim) : values,
      isReduced ? indices.unsqueeze(dim) : indices);
  return {values, indices};
}

Outputs
kthValueOut(const at::Tensor& self, int64_t k, int64_t dim, bool keepDim, at::Tensor& values, at::Tensor& indices) {
  const auto wrapped = c10::maybe_wrap_dim(dim, self.dim());
  at::native::zero_numel_check_dims(self, wrapped, "kthvalue()");
  TORCH_CHECK(k > 0 && k <= (self.dim() > 0 ? self.size(wrapped) : 1), "selected index k out of range");
  at::assert_no_overlap(self, values);
  kernels::SortArgs args{};
  args.k = k;
  return findAlong(kernel<"kthvalue">, kthPlace, args, self, dim, keepDim, values, indices);
}

template <bool ignoresNan>
Outputs medianOut(const at::Tensor& self, int64_t dim, bool keepDim, at::Tensor& values, at::Tensor& indices) {
  kernels::SortArgs args{};
  args.ignoresNan = ignoresNan ? 1 : 0;
  return findAlong(kernel<"median">, medianPlace, args, self, dim, keepDim, values, indices);
}

template <bool ignoresNan>
at::Tensor median(const at::Tensor& self) {
  if (self.numel() == 0) {
    const auto none = std::numeric_limits<double>::quiet_NaN();
    return at::full({}, none, self.options().dtype(at::kDouble)).to(self.scalar_type());
  }
  auto value = at::empty({}, self.options());
  auto index = at::empty({}, self.options().dtype(at::kLong));
  medianOut<ignoresNan>(self.reshape({-1}), 0, false, value, index);
  return value;
}

Outputs modeOut(const at::Tensor& self, int64_t dim, bool keepDim, at::Tensor& values, at::Tensor& indices) {
  return findAlong(kernel<"mode">, modePlace, {}, self, dim, keepDim, values, indices);
}

std::tuple<at::Tensor, at::Tensor> mode(const at::Tensor& self, int64_t dim, bool keepDim) {
  auto values = at::empty({0}, self.options());
  auto indices = at::empty({0}, self.options().dtype(at::kLong));
  return modeOut(self, dim, keepDim, values, indices);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"kthvalue.values", kthValueOut>(m);
  implPlain<"median", median<false>>(m);
  implPlain<"median.dim_values", medianOut<false>>(m);
  implPlain<"nanmedian", median<true>>(m);
  implPlain<"nanmedian.dim_values", medianOut<true>>(m);
  implPlain<"mode", mode>(m);
  implPlain<"mode.values", modeOut>(m);
}

} // namespace
} // namespace openreg
