// Launching softmax kernels.
#include "ops/activation/launch_softmax.h"

#include "ops/launch/dtype.h"
#include "ops/structured/contiguous_output.h"

#include <kernels/activation/softmax.h>
#include <kernels/launch/pointers.h>

#include <ATen/WrapDimUtils.h>

namespace openreg {

// LITERALINCLUDE START: LAUNCH SOFTMAX
void launchSoftmax(
    const KernelFamily& family, const at::Tensor& out, const at::Tensor& input, const at::Tensor& grad, int64_t dim) {
  const auto& kernel = family.get(input.scalar_type(), out.device().index());
  if (out.numel() == 0) {
    return;
  }
  const auto dense = input.contiguous();
  const auto denseGrad = grad.defined() ? grad.contiguous() : grad;
  const ContiguousOutput output(out);
  const auto& result = output.tensor();
  static constexpr std::array<int64_t, 1> kOne = {1};
  const auto sizes = input.dim() == 0 ? at::IntArrayRef(kOne) : input.sizes();
  const auto at = static_cast<size_t>(c10::maybe_wrap_dim(dim, input.dim()));

  kernels::SoftmaxArgs args{};
  args.result = result.mutable_data_ptr();
  args.input = dense.const_data_ptr();
  args.outer = c10::multiply_integers(sizes.slice(0, at));
  args.size = sizes[at];
  args.inner = c10::multiply_integers(sizes.slice(at + 1));
  args.resultType = kernelDType(result.scalar_type(), family.name());
  args.inputType = kernelDType(dense.scalar_type(), family.name());
  std::array pointers = {
      kernels::contiguousPointer(offsetof(kernels::SoftmaxArgs, result), orAccessWrite, result.nbytes()),
      kernels::contiguousPointer(offsetof(kernels::SoftmaxArgs, input), orAccessRead, dense.nbytes()),
      kernels::contiguousPointer(offsetof(kernels::SoftmaxArgs, grad), orAccessRead, 0),
  };
  if (grad.defined()) {
    args.grad = denseGrad.const_data_ptr();
    args.gradType = kernelDType(denseGrad.scalar_type(), family.name());
    pointers[2].extent = denseGrad.nbytes();
  }
  launch(kernel, out.device().index(), args, pointers);
  output.finish();
}
// LITERALINCLUDE END: LAUNCH SOFTMAX

} // namespace openreg
