// RMS normalisation out of PyTorch's operators: what the CPU and every other device have, and what a driver without the
// kernels falls back to.
#include "custom_ops/rms_norm.h"

#include <ATen/native/Resize.h>
#include <ATen/ops/square.h>
#include <torch/library.h>

namespace openreg {

// LITERALINCLUDE START: OWN COMPOSED
TwoTensors composedRmsNorm(const at::Tensor& input, const at::Tensor& weight, double eps) {
  checkRmsNorm("rms_norm_forward", input, weight, eps);
  const auto type = sumType(input.scalar_type());
  const auto x = input.to(type);
  const auto columns = std::max<c10::SymInt>(1, input.sym_size(-1));
  const auto rstd = (at::square(x).sum(-1, /*keepdim=*/true) / columns + eps).rsqrt();
  return {(x * rstd * weight.to(type)).to(input.scalar_type()).contiguous(), rstd};
}
// LITERALINCLUDE END: OWN COMPOSED

TwoTensors composedRmsNormBackward(
    const at::Tensor& gradOutput,
    const at::Tensor& input,
    const at::Tensor& weight,
    const at::Tensor& rstd,
    std::array<bool, 2> wanted) {
  checkRmsNormBackward(gradOutput, input, weight, rstd);
  const auto type = sumType(input.scalar_type());
  const auto grad = gradOutput.to(type), normalized = input.to(type) * rstd;
  at::Tensor gradInput, gradWeight;
  if (wanted[0]) {
    const auto weighted = grad * weight.to(type);
    const auto columns = std::max<c10::SymInt>(1, input.sym_size(-1));
    const auto mean = (weighted * normalized).sum(-1, /*keepdim=*/true) / columns;
    gradInput = (rstd * (weighted - normalized * mean)).to(input.scalar_type()).contiguous();
  }
  if (wanted[1]) {
    gradWeight = (grad * normalized).sum_to_size(weight.sizes()).to(weight.scalar_type()).contiguous();
  }
  return {gradInput, gradWeight};
}

at::Tensor composedAddRmsNorm(at::Tensor& residual, const at::Tensor& input, const at::Tensor& weight, double eps) {
  checkAlike("add_rms_norm_", "input", input, "residual", residual);
  checkRmsNorm("add_rms_norm_", residual, weight, eps);
  return rmsNormOp()->call(residual.add_(input), weight, eps);
}

at::Tensor& composedRmsNormOut(const at::Tensor& input, const at::Tensor& weight, double eps, at::Tensor& out) {
  checkRmsNormOut(input, out);
  const auto result = rmsNormOp()->call(input, weight, eps);
  at::native::resize_output_symint(out, result.sym_sizes());
  return out.copy_(result);
}

namespace {

at::Tensor rmsNorm(const at::Tensor& input, const at::Tensor& weight, double eps) {
  return std::get<0>(rmsNormForwardOp()->call(input, weight, eps));
}

// LITERALINCLUDE START: OWN COMPOSED KEYS
// For all devices that have no kernel of their own. Autograd is not its affair: the derivative has kernels, too.
TORCH_LIBRARY_IMPL(openreg, CompositeExplicitAutograd, m) {
  m.impl("rms_norm_forward", composedRmsNorm);
  m.impl("rms_norm_backward", composedRmsNormBackward);
  m.impl("rms_norm.out", composedRmsNormOut);
  m.impl("add_rms_norm_", composedAddRmsNorm);
}

// A name for calls of other operators, and no more: needs no derivative, no Meta, no rule of any kind.
TORCH_LIBRARY_IMPL(openreg, CompositeImplicitAutograd, m) {
  m.impl("rms_norm", rmsNorm);
}

// That key stands for devices and autograd, but not for vmap.
TORCH_LIBRARY_IMPL(openreg, FuncTorchBatched, m) {
  m.impl("rms_norm", rmsNorm);
}

// A graph that is captured has no operator that changes a tensor. PyTorch rewrites those that do by itself, if what
// they return is new; this one returns what it was given.
TORCH_LIBRARY_IMPL(openreg, Functionalize, m) {
  m.impl("rms_norm.out", composedRmsNormOut);
}
// LITERALINCLUDE END: OWN COMPOSED KEYS

} // namespace
} // namespace openreg
