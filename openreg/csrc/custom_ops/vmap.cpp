// RMS normalisation inside torch.vmap: what it does with a batch that it wasn't told of.
#include "custom_ops/rms_norm.h"

// Of vmap's headers the one that compiles with what PyTorch's wheel has in it.
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/ops/ones.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: OWN BATCH
/// The vmap that is being served, and its tensors. Inside, the operators see the batch as one more dimension.
class Batch {
 public:
  /** @param arguments All tensors of the operator. vmaps are nested, and the innermost has the highest level. */
  template <class... T>
  explicit Batch(const T&... arguments) : level_(std::max({levelOf(arguments)...})) {}

  bool has(const at::Tensor& tensor) const { return levelOf(tensor) == level_; }

  /** @brief The tensor with the batch as its first dimension, or as it is if it has none. */
  at::Tensor unwrap(const at::Tensor& tensor) {
    if (!has(tensor)) {
      return tensor;
    }
    const auto* batched = at::functorch::maybeGetBatchedImpl(tensor);
    auto value = batched->value().movedim(batched->bdim(), 0);
    size_ = value.sym_size(0);
    return value;
  }

  /** @brief What unwrap() gave, with a batch even if the argument has none. */
  at::Tensor widen(const at::Tensor& value, const at::Tensor& argument) const {
    if (has(argument)) {
      return value;
    }
    auto sizes = value.sym_sizes().vec();
    sizes.insert(sizes.begin(), size_.value());
    return value.expand_symint(sizes);
  }

  at::Tensor wrap(const at::Tensor& tensor) const {
    return tensor.defined() ? at::functorch::makeBatched(tensor, 0, level_) : tensor;
  }

 private:
  static int64_t levelOf(const at::Tensor& tensor) {
    const auto* batched = at::functorch::maybeGetBatchedImpl(tensor);
    return batched != nullptr ? batched->level() : -1;
  }

  int64_t level_;
  std::optional<c10::SymInt> size_;
  [[maybe_unused]] c10::impl::ExcludeDispatchKeyGuard outside_{c10::DispatchKey::FuncTorchBatched};
};
// LITERALINCLUDE END: OWN BATCH

/// A weight for each of the batch, in as many dimensions as an input of so many.
at::Tensor alignWeight(const at::Tensor& weight, int64_t dims) {
  auto sizes = weight.sym_sizes().vec();
  sizes.insert(sizes.begin() + 1, static_cast<size_t>(dims - 2), 1);
  return weight.view_symint(sizes);
}

at::Tensor onesFor(const at::Tensor& weight) {
  return at::ones_symint({weight.sym_size(-1)}, weight.options());
}

// LITERALINCLUDE START: OWN BATCH FORWARD
/// Rows are rows: a batch of inputs is an input with more of them. Only a weight for each of the batch is another
/// thing, which the kernel doesn't have.
TwoTensors rmsNormForwardBatched(const at::Tensor& input, const at::Tensor& weight, double eps) {
  Batch batch(input, weight);
  const auto w = batch.unwrap(weight), given = batch.unwrap(input);
  if (!batch.has(weight)) {
    const auto [output, rstd] = rmsNormForwardOp()->call(given, w, eps);
    return {batch.wrap(output), batch.wrap(rstd)};
  }
  checkRmsNorm("rms_norm_forward", input, weight, eps);
  const auto x = batch.widen(given, input);
  const auto [output, rstd] = rmsNormForwardOp()->call(x, onesFor(w), eps);
  return {batch.wrap((output * alignWeight(w, x.dim())).to(x.scalar_type())), batch.wrap(rstd)};
}
// LITERALINCLUDE END: OWN BATCH FORWARD

/// The weight's gradient is a sum over all rows, and here one for each of the batch is wanted: as with torch.func,
/// where this gives the gradient of each sample. So that part is made of other operators.
TwoTensors rmsNormBackwardBatched(
    const at::Tensor& gradOutput,
    const at::Tensor& input,
    const at::Tensor& weight,
    const at::Tensor& rstd,
    std::array<bool, 2> wanted) {
  Batch batch(gradOutput, input, weight, rstd);
  const auto w = batch.unwrap(weight), givenGrad = batch.unwrap(gradOutput), givenInput = batch.unwrap(input);
  const auto givenRstd = batch.unwrap(rstd);
  const auto g = batch.widen(givenGrad, gradOutput), x = batch.widen(givenInput, input);
  const auto r = batch.widen(givenRstd, rstd);
  const bool own = batch.has(weight); // a weight for each of the batch
  at::Tensor gradInput, gradWeight;
  if (wanted[0]) {
    const auto weighted = own ? (g * alignWeight(w, x.dim())).to(g.scalar_type()) : g;
    gradInput = std::get<0>(rmsNormBackwardOp()->call(weighted, x, own ? onesFor(w) : w, r, {true, false}));
  }
  if (wanted[1]) {
    const auto products = g.to(r.scalar_type()) * (x * r);
    const auto sums = products.dim() == 2 ? products : products.flatten(1, -2).sum(1);
    gradWeight = sums.to(weight.scalar_type());
  }
  return {batch.wrap(gradInput), batch.wrap(gradWeight)};
}

at::Tensor addRmsNormBatched(at::Tensor& residual, const at::Tensor& input, const at::Tensor& weight, double eps) {
  Batch batch(residual, input, weight);
  TORCH_CHECK(
      batch.has(residual), "openreg::add_rms_norm_: argument 'residual' has no batch in this vmap; expected one, as '",
      batch.has(input) ? "input" : "weight", "' has one: there is no room for a result of each");
  auto sum = batch.unwrap(residual);
  const auto w = batch.unwrap(weight), given = batch.unwrap(input), x = batch.widen(given, input);
  if (!batch.has(weight)) {
    return batch.wrap(addRmsNormOp()->call(sum, x, w, eps));
  }
  const auto output = rmsNormOp()->call(sum.add_(x), onesFor(w), eps);
  return batch.wrap((output * alignWeight(w, sum.dim())).to(sum.scalar_type()));
}

TORCH_LIBRARY_IMPL(openreg, FuncTorchBatched, m) {
  m.impl("rms_norm_forward", rmsNormForwardBatched);
  m.impl("rms_norm_backward", rmsNormBackwardBatched);
  m.impl("add_rms_norm_", addRmsNormBatched);
}

} // namespace
} // namespace openreg
