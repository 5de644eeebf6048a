// The device's own strided copy: its arguments, and the launch.
#include "ops/copy/copy_kernel.h"

#include "ops/launch/kernel.h"

#include <kernels/copy/copy.h>
#include <kernels/launch/pointers.h>

#include <array>

namespace openreg {
namespace {

// LITERALINCLUDE START: HAS COPY KERNEL

} // namespace

bool hasCopyKernel(c10::DeviceIndex device) {
  return kernel<"copy">.find(device) != nullptr;
}
// LITERALINCLUDE END: HAS COPY KERNEL

// LITERALINCLUDE START: LAUNCH COPY
void launchCopy(const at::Tensor& src, const at::Tensor& dst) {
  if (dst.dim() > kernels::kMaxDims) { // more than the arguments have room for
    for (int64_t i = 0; i < dst.size(0); ++i) {
      launchCopy(src.select(0, i), dst.select(0, i));
    }
    return;
  }
  launchCopyInto(src, dst, /*dim=*/0, /*start=*/0);
}

void launchCopyInto(const at::Tensor& src, const at::Tensor& dst, int64_t dim, int64_t start) {
  const auto dims = static_cast<int>(dst.dim());
  kernels::CopyArgs args{};
  args.elementSize = dst.element_size();
  args.dst = static_cast<char*>(dst.mutable_data_ptr()) + (dims > 0 ? start * dst.stride(dim) * args.elementSize : 0);
  args.src = src.const_data_ptr();
  args.dims = dims;
  for (int i = 0; i < dims; ++i) { // the contract counts in bytes, PyTorch in elements
    args.sizes[i] = src.size(i);
    args.dstStrides[i] = dst.stride(i) * args.elementSize;
    args.srcStrides[i] = src.stride(i) * args.elementSize;
  }
  const std::array pointers = {
      kernels::stridedPointer(
          offsetof(kernels::CopyArgs, dst), orAccessWrite, dims, args.sizes, args.dstStrides, args.elementSize),
      kernels::stridedPointer(
          offsetof(kernels::CopyArgs, src), orAccessRead, dims, args.sizes, args.srcStrides, args.elementSize),
  };
  launch(kernel<"copy">, dst.device().index(), args, pointers);
}
// LITERALINCLUDE END: LAUNCH COPY

} // namespace openreg
