// What comes out of the operators, without the numbers: shapes, types and strides.
#include "custom_ops/rms_norm.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: OWN META
at::Tensor contiguousLike(const at::Tensor& tensor) {
  return at::empty_symint(tensor.sym_sizes(), tensor.options());
}

TwoTensors rmsNormForwardMeta(const at::Tensor& input, const at::Tensor& weight, double eps) {
  checkRmsNorm("rms_norm_forward", input, weight, eps);
  auto kept = input.sym_sizes().vec();
  kept.back() = 1;
  return {contiguousLike(input), at::empty_symint(kept, input.options().dtype(sumType(input.scalar_type())))};
}

TwoTensors rmsNormBackwardMeta(
    const at::Tensor& gradOutput,
    const at::Tensor& input,
    const at::Tensor& weight,
    const at::Tensor& rstd,
    std::array<bool, 2> wanted) {
  checkRmsNormBackward(gradOutput, input, weight, rstd);
  return {wanted[0] ? contiguousLike(input) : at::Tensor(), wanted[1] ? contiguousLike(weight) : at::Tensor()};
}

at::Tensor addRmsNormMeta(at::Tensor& residual, const at::Tensor& input, const at::Tensor& weight, double eps) {
  checkAlike("add_rms_norm_", "input", input, "residual", residual);
  checkRmsNorm("add_rms_norm_", residual, weight, eps);
  return contiguousLike(residual);
}

TORCH_LIBRARY_IMPL(openreg, Meta, m) {
  m.impl("rms_norm_forward", rmsNormForwardMeta);
  m.impl("rms_norm_backward", rmsNormBackwardMeta);
  m.impl("add_rms_norm_", addRmsNormMeta);
}
// LITERALINCLUDE END: OWN META

} // namespace
} // namespace openreg
