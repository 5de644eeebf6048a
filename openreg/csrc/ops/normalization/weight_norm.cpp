// Weight normalisation: weights as a direction and a length, and their derivatives.
#include "ops/launch/arrays.h"
#include "ops/structured/plain.h"

#include <kernels/normalization/normalization.h>

#include <ATen/ops/div.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <torch/library.h>

#include <tuple>

namespace openreg {
namespace {

using TwoTensors = std::tuple<at::Tensor, at::Tensor>;

/// Where the vectors lie that have each a length of their own: one for each place along a dimension.
template <class Args>
Args describeVectors(const char* op, const at::Tensor& direction, const at::Tensor& length, int64_t dim) {
  TORCH_CHECK(
      dim >= 0 && dim < direction.dim(), op, ": expected dim to be one of v's dimensions, which has size ",
      direction.sizes(), ", but got ", dim);
  Args args{};
  args.outer = c10::multiply_integers(direction.sizes().slice(0, dim));
  args.vectors = direction.size(dim);
  args.inner = c10::multiply_integers(direction.sizes().slice(dim + 1));
  TORCH_CHECK(
      length.numel() == args.vectors, op, ": expected g to have one element for each of the ", args.vectors,
      " places along dimension ", dim, " of v, but got a tensor of size ", length.sizes());
  return args;
}

/// Whether a device lacks a kernel of these, but has those that make it.
bool isComposed(const KernelFamily& family, const at::Tensor& direction) {
  return !hasKernel(family, direction) && hasKernel(kernelFamily<"norm_2">, direction);
}

/// An argument as an array of outer × vectors × inner numbers, of which a length has one of each vector.
template <class Args>
at::Tensor asVectors(const Args& args, const at::Tensor& tensor) {
  const auto array = asArray(tensor);
  return tensor.numel() == args.vectors ? array.view({1, args.vectors, 1})
                                        : array.view({args.outer, args.vectors, args.inner});
}

TwoTensors weightNorm(const at::Tensor& direction, const at::Tensor& length, int64_t dim) {
  using Args = kernels::WeightNormArgs;
  const auto args = describeVectors<Args>("_weight_norm_interface", direction, length, dim);
  const auto result = at::empty_like(direction, at::MemoryFormat::Contiguous);
  const auto norms = at::empty_like(length, at::MemoryFormat::Contiguous);
  if (isComposed(kernelFamily<"weight_norm">, direction)) {
    const auto v = asVectors(args, direction);
    const auto sizes = at::linalg_vector_norm(v, 2, at::IntArrayRef({0, 2}), /*keepdim=*/true);
    result.copy_(at::mul(v, at::div(asVectors(args, length), sizes)).view_as(result));
    norms.copy_(sizes.view_as(norms));
    return {result, norms};
  }
  const ArrayOutput output(result), lengths(norms);
  launchOverArrays(
      kernelFamily<"weight_norm">, direction, args,
      {reads("v", &Args::direction, direction), reads("g", &Args::length, length),
       writes("result", &Args::output, output), writes("norms", &Args::norms, lengths)});
  output.finish();
  lengths.finish();
  return {result, norms};
}

TwoTensors weightNormBackward(
    const at::Tensor& grad,
    const at::Tensor& direction,
    const at::Tensor& length,
    const at::Tensor& norms,
    int64_t dim) {
  using Args = kernels::WeightNormBackwardArgs;
  const auto args = describeVectors<Args>("_weight_norm_interface_backward", direction, length, dim);
  TORCH_CHECK(
      grad.sizes() == direction.sizes() && norms.numel() == length.numel(),
      "_weight_norm_interface_backward: expected grad_w to be of the size ", direction.sizes(),
      " and saved_norms of as many elements as saved_g, but got ", grad.sizes(), " and ", norms.sizes());
  const auto gradDirection = at::empty_like(direction, at::MemoryFormat::Contiguous);
  const auto gradLength = at::empty_like(length, at::MemoryFormat::Contiguous);
  if (isComposed(kernelFamily<"weight_norm_backward">, direction)) {
    const auto v = asVectors(args, direction), toOutput = asVectors(args, grad), sizes = asVectors(args, norms);
    const auto along = at::div(at::sum(at::mul(toOutput, v), {0, 2}, /*keepdim=*/true), sizes);
    const auto across = at::sub(toOutput, at::mul(v, at::div(along, sizes)));
    gradDirection.copy_(at::mul(across, at::div(asVectors(args, length), sizes)).view_as(gradDirection));
    gradLength.copy_(along.view_as(gradLength));
    return {gradDirection, gradLength};
  }
  const ArrayOutput toDirection(gradDirection), toLength(gradLength);
  launchOverArrays(
      kernelFamily<"weight_norm_backward">, direction, args,
      {reads("grad_w", &Args::gradOutput, grad), reads("saved_v", &Args::direction, direction),
       reads("saved_g", &Args::length, length), reads("saved_norms", &Args::norms, norms, Fit::Parameter),
       writes("grad_v", &Args::gradDirection, toDirection), writes("grad_g", &Args::gradLength, toLength)});
  toDirection.finish();
  toLength.finish();
  return {gradDirection, gradLength};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"_weight_norm_interface", weightNorm>(m);
  implPlain<"_weight_norm_interface_backward", weightNormBackward>(m);
}

} // namespace
} // namespace openreg
