// The gradient of Tensor.unfold(), whose windows overlap.
#include "ops/launch/arrays.h"
#include "ops/structured/plain.h"

#include <kernels/indexing/unfold_backward.h>

#include <ATen/native/UnfoldBackward.h>
#include <ATen/ops/unfold_backward_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

using kernels::UnfoldBackwardArgs;

void unfoldBackwardKernel(at::Tensor& in, const at::Tensor& grad, int64_t dim, int64_t size, int64_t step) {
  if (in.numel() == 0) {
    return;
  }
  UnfoldBackwardArgs args{};
  args.size = in.dim() == 0 ? 1 : in.size(dim);
  args.inner = in.dim() == 0 ? 1 : c10::multiply_integers(in.sizes().slice(dim + 1));
  args.outer = in.numel() / (args.size * args.inner);
  args.windows = in.dim() == 0 ? 1 : grad.size(dim);
  args.window = size;
  args.step = step;
  const ArrayOutput output(in);
  launchOverArrays(
      kernelFamily<"unfold_backward">, grad, args,
      {writes("grad_in", &UnfoldBackwardArgs::in, output), reads("grad", &UnfoldBackwardArgs::grad, grad)});
  output.finish();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"unfold_backward", at::native::unfold_backward>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(unfold_backward_stub, &openreg::unfoldBackwardKernel)
} // namespace at::native
