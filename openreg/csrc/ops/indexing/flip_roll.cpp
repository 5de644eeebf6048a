// flip and roll: the same elements in another order.
#include "ops/launch/kernel.h"
#include "ops/structured/plain.h"

#include <kernels/copy/copy.h>
#include <kernels/launch/pointers.h>

#include <ATen/TensorIterator.h>
#include <ATen/native/IndexKernel.h>
#include <ATen/ops/flip_native.h>
#include <ATen/ops/roll_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

/// A copy: flipped dimensions have negative strides.
void flipKernel(at::TensorIterator& iter, bool /*quantized*/) {
  kernels::CopyArgs args{};
  TORCH_CHECK(iter.ndim() <= kernels::kMaxDims, "flip: ", iter.ndim(), " dimensions are more than kernels take");
  if (iter.numel() == 0) {
    return;
  }
  args.dst = iter.data_ptr(0);
  args.src = iter.data_ptr(1);
  args.elementSize = iter.element_size(0);
  args.dims = iter.ndim();
  std::copy_n(iter.shape().data(), args.dims, args.sizes);
  std::copy_n(iter.strides(0).data(), args.dims, args.dstStrides);
  std::copy_n(iter.strides(1).data(), args.dims, args.srcStrides);
  const std::array pointers = {
      kernels::stridedPointer(
          offsetof(kernels::CopyArgs, dst), orAccessWrite, iter.ndim(), args.sizes, args.dstStrides, args.elementSize),
      kernels::stridedPointer(
          offsetof(kernels::CopyArgs, src), orAccessRead, iter.ndim(), args.sizes, args.srcStrides, args.elementSize),
  };
  launch(kernel<"copy">, iter.device(0).index(), args, pointers);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"flip", at::native::flip>(m);
  implPlain<"roll", at::native::roll>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(flip_stub, &openreg::flipKernel)
} // namespace at::native
