// Rows of an embedding, looked up and put together by bags.
#include "ops/launch/arrays.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <kernels/sequence/embedding_bag.h>

#include <ATen/OpMathType.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_embedding_bag_backward_native.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <tuple>

namespace openreg {
namespace {

using FourTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using kernels::BagMode;
using kernels::EmbeddingBagArgs;

void checkArguments(
    const at::Tensor& weight,
    const at::Tensor& indices,
    const at::Tensor& offsets,
    int64_t mode,
    const OptionalTensor& factors) {
  const auto isIndex = [](const at::Tensor& tensor) {
    return tensor.dtype() == at::kLong || tensor.dtype() == at::kInt;
  };
  TORCH_CHECK(
      isIndex(indices) && isIndex(offsets), "embedding_bag: expected indices and offsets of type int or long, but got ",
      indices.dtype(), " and ", offsets.dtype());
  TORCH_CHECK(
      indices.dim() == 1 && offsets.dim() == 1 && weight.dim() == 2,
      "embedding_bag: expected indices and offsets of one ", "dimension and a weight of two, but got ", indices.dim(),
      ", ", offsets.dim(), " and ", weight.dim());
  TORCH_CHECK(
      !factors.has_value() || !factors->defined() ||
          (mode == static_cast<int64_t>(BagMode::Sum) && factors->sizes() == indices.sizes() &&
           factors->dtype() == weight.dtype()),
      "embedding_bag: expected per_sample_weights only with mode 'sum', of the indices' size and the weight's type");
}

FourTensors embeddingBag(
    const at::Tensor& weight,
    const at::Tensor& indices,
    const at::Tensor& offsets,
    bool /*scaleByFrequency*/,
    int64_t mode,
    bool /*sparse*/,
    const OptionalTensor& factors,
    bool includeLastOffset,
    int64_t paddingIndex) {
  checkArguments(weight, indices, offsets, mode, factors);
  TORCH_CHECK(!includeLastOffset || offsets.size(0) >= 1, "include_last_offset: number of offset should be at least 1");
  const auto bags = offsets.size(0) - (includeLastOffset ? 1 : 0);
  const auto longs = indices.options().dtype(at::kLong);
  const auto hasMaxima = mode == static_cast<int64_t>(BagMode::Max);
  auto output = at::empty({bags, weight.size(1)}, weight.options());
  auto bagOf = at::zeros(indices.sizes(), longs);
  auto sizes = includeLastOffset ? at::zeros(offsets.sizes(), longs) : at::empty(offsets.sizes(), longs);
  auto largest = hasMaxima ? at::empty({bags, weight.size(1)}, longs) : at::empty({0}, longs);
  EmbeddingBagArgs args{};
  args.rows = weight.size(0);
  args.columns = weight.size(1);
  args.bags = bags;
  args.count = indices.numel();
  args.paddingIndex = paddingIndex;
  args.mode = static_cast<BagMode>(mode);
  const ArrayOutput out(output);
  launchOverArrays(
      kernelFamily<"embedding_bag">, weight, args,
      {reads("weight", &EmbeddingBagArgs::weight, weight),
       reads("indices", &EmbeddingBagArgs::indices, indices, Fit::Computed),
       reads("offsets", &EmbeddingBagArgs::offsets, offsets, Fit::Computed),
       reads("per_sample_weights", &EmbeddingBagArgs::factors, factors),
       writes("output", &EmbeddingBagArgs::output, out), writes("bag_of", &EmbeddingBagArgs::bagOf, bagOf),
       writes("sizes", &EmbeddingBagArgs::sizes, sizes), writes("largest", &EmbeddingBagArgs::largest, largest)});
  out.finish();
  // Shapes and types are those that PyTorch's fake tensors have on every device but the CPU: what is compiled counts on
  // it.
  const auto type = indices.scalar_type();
  return {output, bagOf.to(type), sizes.to(type), largest.to(type)};
}

at::Tensor denseBackward(
    const at::Tensor& grad,
    const at::Tensor& indices,
    const at::Tensor& bagOf,
    const at::Tensor& sizes,
    const at::Tensor& largest,
    int64_t rows,
    bool scaleByFrequency,
    int64_t mode,
    const OptionalTensor& factors,
    int64_t paddingIndex) {
  if (mode == static_cast<int64_t>(BagMode::Max)) {
    // Each element's gradient goes to the row that it came from; of an empty bag, whose row is −1, to a last one that
    // is left out.
    const auto rowsOf = largest.to(at::kLong).remainder(rows + 1);
    return at::zeros({rows + 1, grad.size(1)}, grad.options()).scatter_add_(0, rowsOf, grad).narrow(0, 0, rows);
  }
  // Each index has a share in its bag's gradient. Of a narrow type neither the shares nor their sums are rounded to it.
  auto shares = grad.to(at::toOpMathType(grad.scalar_type())).index_select(0, bagOf);
  if (mode == static_cast<int64_t>(BagMode::Mean)) {
    shares.div_(sizes.index_select(0, bagOf).clamp_min_(1).unsqueeze(1));
  }
  if (factors.has_value() && factors->defined()) {
    shares.mul_(factors->unsqueeze(1));
  }
  return at::embedding_dense_backward(shares, indices, rows, paddingIndex, scaleByFrequency).to(grad.scalar_type());
}

at::Tensor factorsBackward(
    const at::Tensor& grad,
    const at::Tensor& weight,
    const at::Tensor& indices,
    const at::Tensor& /*offsets*/,
    const at::Tensor& bagOf,
    int64_t mode,
    int64_t paddingIndex) {
  TORCH_CHECK(
      mode == static_cast<int64_t>(BagMode::Sum),
      "embedding_bag_backward: per_sample_weights only supported for mode='sum'");
  if (bagOf.numel() == 0 && indices.numel() > 0) {
    throw MissingKernel("embedding_bag_backward: the forward pass ran on the CPU, which notes no bags");
  }
  TORCH_CHECK(
      grad.dim() == 2 && weight.dim() == 2 && grad.size(1) == weight.size(1) && bagOf.sizes() == indices.sizes(),
      "embedding_bag_backward: expected a gradient with rows like the weight's, ", weight.sizes(),
      ", and a bag for each of ", indices.sizes(), " indices, but got ", grad.sizes(), " and ", bagOf.sizes());
  auto result = at::empty(indices.sizes(), grad.options());
  EmbeddingBagArgs args{};
  args.rows = weight.size(0);
  args.columns = weight.size(1);
  args.bags = grad.size(0);
  args.count = indices.numel();
  args.paddingIndex = paddingIndex;
  const ArrayOutput factors(result);
  launchOverArrays(
      kernelFamily<"embedding_bag_factors">, weight, args,
      {reads("weight", &EmbeddingBagArgs::weight, weight),
       reads("indices", &EmbeddingBagArgs::indices, indices, Fit::Computed),
       reads("offset2bag", &EmbeddingBagArgs::bagOf, bagOf, Fit::Computed),
       reads("grad", &EmbeddingBagArgs::output, grad), writes("out", &EmbeddingBagArgs::factors, factors)});
  factors.finish();
  return result;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"_embedding_bag", embeddingBag>(m);
  implPlain<"_embedding_bag_forward_only", embeddingBag>(m);
  implPlain<"_embedding_bag_backward", at::native::_embedding_bag_backward_symint>(m);
  implPlain<"_embedding_bag_dense_backward", denseBackward>(m);
  implPlain<"_embedding_bag_per_sample_weights_backward", factorsBackward>(m);
}

} // namespace
} // namespace openreg
