// bincount, histc and repeat_interleave: counting, and its reverse.
#include "ops/indexing/index_places.h"
#include "ops/launch/arrays.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <kernels/sorting/histogram.h>

#include <ATen/ops/_assert_async.h>
#include <ATen/ops/add.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/le.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <cmath>

namespace openreg {
namespace {

at::Tensor countNumbers(const at::Tensor& numbers, int64_t bins) {
  if (kernel<"bincount">.find(numbers.device().index()) == nullptr && hasIndexPlaces(numbers.device())) {
    return at::zeros({bins}, numbers.options()).index_add_(0, numbers, at::ones_like(numbers));
  }
  auto counts = at::empty({bins}, numbers.options());
  kernels::BincountArgs args{};
  args.counts = counts.mutable_data_ptr<int64_t>();
  args.in = numbers.const_data_ptr<int64_t>();
  args.count = numbers.numel();
  args.bins = bins;
  const std::array pointers = {
      kernels::contiguousPointer(offsetof(kernels::BincountArgs, counts), orAccessWrite, counts.nbytes()),
      kernels::contiguousPointer(offsetof(kernels::BincountArgs, in), orAccessRead, numbers.nbytes()),
  };
  launch(kernel<"bincount">, numbers.device().index(), args, pointers);
  return counts;
}

/// Waits for the largest number, which decides the shape.
at::Tensor bincount(const at::Tensor& self, const std::optional<at::Tensor>& maybeWeights, int64_t minLength) {
  const auto weights = maybeWeights.value_or(at::Tensor());
  TORCH_CHECK(minLength >= 0, "minlength should be >= 0");
  const bool isVector = self.dim() == 1 && at::isIntegralType(self.scalar_type(), true);
  TORCH_CHECK(isVector, "bincount only supports 1-d non-negative integral inputs.");
  const auto sumType = weights.defined() && weights.scalar_type() == at::kFloat ? at::kFloat : at::kDouble;
  if (self.numel() == 0) {
    return at::zeros({minLength}, self.options().dtype(at::kLong));
  }
  TORCH_CHECK(
      !weights.defined() || (weights.dim() == 1 && weights.size(0) == self.size(0)),
      "weights should be 1-d and have the same length as input");
  const auto places = self.to(at::kLong);
  const auto [smallest, largest] = at::aminmax(places);
  const auto ends = at::stack({smallest, largest}).cpu();
  TORCH_CHECK(ends[0].item<int64_t>() >= 0, "bincount only supports 1-d non-negative integral inputs.");
  const auto bins = std::max(ends[1].item<int64_t>() + 1, minLength);
  if (!weights.defined()) {
    return countNumbers(places.contiguous(), bins);
  }
  // In order: the sum of numbers that are no integers depends on it.
  return at::zeros({bins}, self.options().dtype(sumType)).index_add_(0, places, weights.to(sumType));
}

/// What the kernel "histc" writes, in the type that it computes in.
at::Tensor countInBins(const at::Tensor& self, const kernels::HistogramArgs& args) {
  const auto numbers = asArray(self).reshape({-1});
  auto lower = at::full({}, args.lower, numbers.options());
  auto upper = at::full({}, args.upper, numbers.options());
  if (args.lower == args.upper && numbers.numel() > 0) {
    std::tie(lower, upper) = at::aminmax(numbers);
    at::_assert_async(at::isfinite(at::sub(upper, lower)), "torch.histc: the range of the elements is not finite");
  }
  const auto apart = at::eq(lower, upper).to(numbers.scalar_type());
  lower = at::sub(lower, apart);
  upper = at::add(upper, apart);
  const auto counts = at::logical_and(at::ge(numbers, lower), at::le(numbers, upper));
  const auto along =
      at::div(at::mul(at::sub(at::where(counts, numbers, lower), lower), args.bins), at::sub(upper, lower));
  const auto places = at::clamp_max(along.to(at::kLong), args.bins - 1);
  return at::zeros({args.bins}, numbers.options()).index_add_(0, places, counts.to(numbers.scalar_type()));
}

at::Tensor&
histcOut(const at::Tensor& self, int64_t bins, const at::Scalar& lower, const at::Scalar& upper, at::Tensor& out) {
  TORCH_CHECK(bins > 0, "bins must be > 0, but got ", bins);
  TORCH_CHECK(
      self.scalar_type() == out.scalar_type(), "torch.histc: input tensor and hist tensor should have the same dtype,",
      " but got input ", self.scalar_type(), " and hist ", out.scalar_type());
  kernels::HistogramArgs args{};
  const bool isSingle = arrayType(self.scalar_type()) == at::kFloat; // which may not hold what a double does
  args.lower = isSingle ? lower.to<float>() : lower.to<double>();
  args.upper = isSingle ? upper.to<float>() : upper.to<double>();
  TORCH_CHECK(
      std::isfinite(args.lower) && std::isfinite(args.upper), "torch.histc: range of [", args.lower, ", ", args.upper,
      "] is not finite");
  TORCH_CHECK(args.lower <= args.upper, "torch.histc: max must be larger than min");
  args.count = self.numel();
  args.bins = bins;
  resizeOutput(out, {bins}, {}, self.options());
  if (!hasKernel(kernelFamily<"histc">, self) && hasIndexPlaces(self.device())) {
    return out.copy_(countInBins(self, args));
  }
  const ArrayOutput counts(out);
  launchOverArrays(
      kernelFamily<"histc">, self, args,
      {writes("out", &kernels::HistogramArgs::counts, counts), reads("self", &kernels::HistogramArgs::in, self)});
  counts.finish();
  return out;
}

at::Tensor histc(const at::Tensor& self, int64_t bins, const at::Scalar& lower, const at::Scalar& upper) {
  auto out = at::empty({0}, self.options());
  return histcOut(self, bins, lower, upper, out);
}

/// Waits for the sum of the repeats, unless the caller knows it.
at::Tensor repeatInterleave(const at::Tensor& repeats, std::optional<int64_t> size) {
  TORCH_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  TORCH_CHECK(
      repeats.scalar_type() == at::kLong || repeats.scalar_type() == at::kInt, "repeats has to be Long or Int tensor");
  if (repeats.size(0) == 0) {
    return at::empty_like(repeats, at::MemoryFormat::Contiguous);
  }
  const auto ends = repeats.cumsum(0, at::kLong);
  if (!size.has_value()) {
    const auto answers = at::stack({ends.select(0, -1), repeats.min().to(at::kLong)}).cpu();
    TORCH_CHECK(answers[1].item<int64_t>() >= 0, "repeats can not be negative");
    size = answers[0].item<int64_t>();
  }
  auto out = at::empty({*size}, repeats.options());
  kernels::RepeatArgs args{};
  args.out = out.mutable_data_ptr();
  args.ends = ends.const_data_ptr<int64_t>();
  args.count = repeats.numel();
  args.size = *size;
  args.narrow = repeats.scalar_type() == at::kInt ? 1 : 0;
  const std::array pointers = {
      kernels::contiguousPointer(offsetof(kernels::RepeatArgs, out), orAccessWrite, out.nbytes()),
      kernels::contiguousPointer(offsetof(kernels::RepeatArgs, ends), orAccessRead, ends.nbytes()),
  };
  launch(kernel<"repeat_interleave">, repeats.device().index(), args, pointers);
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"bincount", bincount>(m);
  implPlain<"histc", histc>(m);
  implPlain<"histc.out", histcOut>(m);
  implPlain<"repeat_interleave.Tensor", repeatInterleave>(m);
}

} // namespace
} // namespace openreg
