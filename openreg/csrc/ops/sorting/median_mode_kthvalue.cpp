// kthvalue, median, nanmedian and mode: one element of each row, by its place in the order.
#include "ops/sorting/sort.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/ReduceOpsUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <torch/library.h>

#include <limits>
#include <tuple>

namespace openreg {
namespace {

using Outputs = std::tuple<at::Tensor&, at::Tensor&>;

/// Finds one element along `dim`, and where it is, for each of the others.
Outputs findAlong(
    const Kernel& kernel,
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
  return findAlong(kernel<"kthvalue">, args, self, dim, keepDim, values, indices);
}

template <bool ignoresNan>
Outputs medianOut(const at::Tensor& self, int64_t dim, bool keepDim, at::Tensor& values, at::Tensor& indices) {
  kernels::SortArgs args{};
  args.ignoresNan = ignoresNan ? 1 : 0;
  return findAlong(kernel<"median">, args, self, dim, keepDim, values, indices);
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
  return findAlong(kernel<"mode">, {}, self, dim, keepDim, values, indices);
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
