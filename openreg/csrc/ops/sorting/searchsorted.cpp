// searchsorted and bucketize: where values belong among boundaries.
#include "ops/launch/arrays.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <kernels/sorting/searchsorted.h>

#include <ATen/ScalarOps.h>
#include <ATen/native/BucketizationUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/result_type.h>
#include <torch/library.h>

#include <string_view>

namespace openreg {
namespace {

using kernels::SearchArgs;

at::Tensor& searchOut(
    const at::Tensor& boundaries,
    const at::Tensor& values,
    bool narrow,
    bool right,
    std::optional<std::string_view> side,
    const std::optional<at::Tensor>& maybeSorter,
    at::Tensor& out) {
  const auto sorter = maybeSorter.value_or(at::Tensor());
  // Without the sorter, whose values PyTorch would look at, and wait for. The kernel looks at them.
  at::native::searchsorted_pre_check(boundaries, values, out, narrow, right, side, {});
  if (sorter.defined()) {
    TORCH_CHECK(
        sorter.device() == boundaries.device(),
        "torch.searchsorted(): sorter and boundary tensors should have same device type, but got sorter tensor device "
        "type ",
        sorter.device(), " and input value tensor device type ", boundaries.device());
    TORCH_CHECK(
        sorter.sizes() == boundaries.sizes(),
        "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor ",
        boundaries.sizes(), "and got sorter tensor ", sorter.sizes());
    TORCH_CHECK(
        sorter.scalar_type() == at::kLong, "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype ",
        sorter.scalar_type());
  }
  resizeOutput(out, values.sizes(), {}, out.options().device(boundaries.device()));
  if (values.numel() == 0) {
    return out;
  }
  const auto common = at::result_type(boundaries, values);
  const ContiguousOutput output(out);
  SearchArgs args{};
  args.count = values.numel();
  args.perRow = boundaries.dim() == 1 ? 0 : values.size(-1);
  args.size = boundaries.size(-1);
  args.right = right || side == "right" ? 1 : 0;
  args.narrow = narrow ? 1 : 0;
  const auto from = boundaries.to(common);
  auto places = writes("out", &SearchArgs::result, output.tensor());
  places.type = out.scalar_type(); // int or long: `narrow` says which
  launchOverArrays(
      kernelFamily<"searchsorted">, from, args,
      {places, reads("self", &SearchArgs::values, values.to(common)),
       reads("sorted_sequence", &SearchArgs::boundaries, from), reads("sorter", &SearchArgs::sorter, sorter)});
  output.finish();
  return out;
}

at::Tensor search(
    const at::Tensor& boundaries,
    const at::Tensor& values,
    bool narrow,
    bool right,
    std::optional<std::string_view> side,
    const std::optional<at::Tensor>& sorter) {
  auto out = at::empty({0}, boundaries.options().dtype(narrow ? at::kInt : at::kLong));
  return searchOut(boundaries, values, narrow, right, side, sorter, out);
}

at::Tensor& searchScalarOut(
    const at::Tensor& boundaries,
    const at::Scalar& value,
    bool narrow,
    bool right,
    std::optional<std::string_view> side,
    const std::optional<at::Tensor>& sorter,
    at::Tensor& out) {
  const auto values = at::native::searchsorted_scalar_tensor(value, boundaries.device());
  return searchOut(boundaries, values, narrow, right, side, sorter, out);
}

at::Tensor searchScalar(
    const at::Tensor& boundaries,
    const at::Scalar& value,
    bool narrow,
    bool right,
    std::optional<std::string_view> side,
    const std::optional<at::Tensor>& sorter) {
  const auto values = at::native::searchsorted_scalar_tensor(value, boundaries.device());
  return search(boundaries, values, narrow, right, side, sorter);
}

void checkBoundaries(const at::Tensor& boundaries) {
  TORCH_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(), ")");
}

at::Tensor bucketize(const at::Tensor& self, const at::Tensor& boundaries, bool narrow, bool right) {
  checkBoundaries(boundaries);
  return search(boundaries, self, narrow, right, std::nullopt, std::nullopt);
}

at::Tensor&
bucketizeOut(const at::Tensor& self, const at::Tensor& boundaries, bool narrow, bool right, at::Tensor& out) {
  checkBoundaries(boundaries);
  return searchOut(boundaries, self, narrow, right, std::nullopt, std::nullopt, out);
}

at::Tensor bucketizeScalar(const at::Scalar& self, const at::Tensor& boundaries, bool narrow, bool right) {
  checkBoundaries(boundaries);
  return searchScalar(boundaries, self, narrow, right, std::nullopt, std::nullopt);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"searchsorted.Tensor", search>(m);
  implPlain<"searchsorted.Tensor_out", searchOut>(m);
  implPlain<"searchsorted.Scalar", searchScalar>(m);
  implPlain<"searchsorted.Scalar_out", searchScalarOut>(m);
  implPlain<"bucketize.Tensor", bucketize>(m);
  implPlain<"bucketize.Tensor_out", bucketizeOut>(m);
  implPlain<"bucketize.Scalar", bucketizeScalar>(m);
}

} // namespace
} // namespace openreg
