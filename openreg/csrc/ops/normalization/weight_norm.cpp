// Weight normalisation: weights as a direction and a length, and their derivatives.
#include "ops/structured/plain.h"

#include <ATen/ops/norm_except_dim.h>
#include <torch/library.h>

#include <tuple>

namespace openreg {
namespace {

using TwoTensors = std::tuple<at::Tensor, at::Tensor>;

/// Sums over all dimensions but one, which stay as dimensions of size 1: in the shape of the lengths.
at::Tensor sumExcept(const at::Tensor& tensor, int64_t dim) {
  at::DimVector others;
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (i != dim) {
      others.push_back(i);
    }
  }
  return others.empty() ? tensor : tensor.sum(others, /*keepdim=*/true);
}

TwoTensors weightNorm(const at::Tensor& direction, const at::Tensor& length, int64_t dim) {
  const auto norms = at::norm_except_dim(direction, 2, dim);
  return {direction.mul(length.div(norms)), norms};
}

TwoTensors weightNormBackward(
    const at::Tensor& grad,
    const at::Tensor& direction,
    const at::Tensor& length,
    const at::Tensor& norms,
    int64_t dim) {
  const auto gradLength = sumExcept(grad.mul(direction), dim).div(norms);
  // The part of the gradient along the direction changes nothing: the length is another parameter.
  const auto across = grad.sub(direction.mul(gradLength.div(norms)));
  return {across.mul(length.div(norms)), gradLength};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"_weight_norm_interface", weightNorm>(m);
  implPlain<"_weight_norm_interface_backward", weightNormBackward>(m);
}

} // namespace
} // namespace openreg
