// Distances between rows: cdist and pdist.
#include "ops/launch/arrays.h"
#include "ops/structured/plain.h"

#include <kernels/linalg/distance.h>

#include <ATen/native/Distance.h>
#include <ATen/ops/_cdist_backward_native.h>
#include <ATen/ops/_cdist_forward_native.h>
#include <ATen/ops/_pdist_backward_native.h>
#include <ATen/ops/_pdist_forward_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

using kernels::DistanceArgs;

/// @param others Undefined: the rows of `first` among themselves.
DistanceArgs describe(const at::Tensor& first, const at::Tensor& others, double p) {
  DistanceArgs args{};
  args.rows = first.size(-2);
  args.columns = first.size(-1);
  args.batch = args.rows * args.columns == 0 ? 0 : first.numel() / (args.rows * args.columns);
  args.others = others.defined() ? others.size(-2) : args.rows;
  args.p = p;
  return args;
}

void launchForward(
    const KernelFamily& family, at::Tensor& distances, const at::Tensor& first, const at::Tensor& second, double p) {
  const ArrayOutput output(distances);
  launchOverArrays(
      family, first, describe(first, second, p),
      {reads("x1", &DistanceArgs::first, first), reads("x2", &DistanceArgs::second, second),
       writes("distances", &DistanceArgs::distances, output)});
  output.finish();
}

void launchBackward(
    const KernelFamily& family,
    at::Tensor& result,
    const at::Tensor& grad,
    const at::Tensor& first,
    const at::Tensor& second,
    double p,
    const at::Tensor& distances) {
  const ArrayOutput output(result);
  launchOverArrays(
      family, first, describe(first, second, p),
      {reads("x1", &DistanceArgs::first, first), reads("x2", &DistanceArgs::second, second),
       reads("distances", &DistanceArgs::distances, distances), reads("grad", &DistanceArgs::grad, grad),
       writes("result", &DistanceArgs::result, output)});
  output.finish();
}

void cdistKernel(at::Tensor& distances, const at::Tensor& first, const at::Tensor& second, double p) {
  launchForward(kernelFamily<"cdist">, distances, first, second, p);
}

void cdistBackwardKernel(
    at::Tensor& result,
    const at::Tensor& grad,
    const at::Tensor& first,
    const at::Tensor& second,
    double p,
    const at::Tensor& distances) {
  launchBackward(kernelFamily<"cdist_backward">, result, grad, first, second, p, distances);
}

void pdistKernel(at::Tensor& distances, const at::Tensor& self, double p) {
  launchForward(kernelFamily<"pdist">, distances, self, {}, p);
}

void pdistBackwardKernel(
    at::Tensor& result, const at::Tensor& grad, const at::Tensor& self, double p, const at::Tensor& distances) {
  launchBackward(kernelFamily<"pdist_backward">, result, grad, self, {}, p, distances);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"_cdist_forward", at::native::_cdist_forward>(m);
  implPlain<"_cdist_backward", at::native::_cdist_backward>(m);
  implPlain<"_pdist_forward", at::native::_pdist_forward>(m);
  implPlain<"_pdist_backward", at::native::_pdist_backward>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(cdist_stub, &openreg::cdistKernel)
REGISTER_PRIVATEUSE1_DISPATCH(cdist_backward_stub, &openreg::cdistBackwardKernel)
REGISTER_PRIVATEUSE1_DISPATCH(pdist_forward_stub, &openreg::pdistKernel)
REGISTER_PRIVATEUSE1_DISPATCH(pdist_backward_stub, &openreg::pdistBackwardKernel)
} // namespace at::native
