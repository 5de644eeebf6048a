// copy_ between any two tensors of which at least one is on this device: which way it goes, and what a device does
// itself. PyTorch sends to, cpu, clone, contiguous and copy_ itself here.
#include "ops/copy/copy.h"

#include "device/device.h"
#include "device/error.h"
#include "ops/launch/dtype.h"
#include "ops/launch/elementwise.h"
#include "ops/launch/kernel.h"
#include "stream/handle.h"

#include <kernels/copy/copy.h>
#include <kernels/launch/pointers.h>

#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <array>

namespace openreg {

// LITERALINCLUDE START: HAS COPY KERNEL
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

namespace {

// LITERALINCLUDE START: CAST
/// What changes the type of the elements, or what the conjugate and negative bits say about them.
const KernelFamily& castFamily(const at::Tensor& src, const at::Tensor& dst) {
  return src.is_conj() != dst.is_conj() ? kernelFamily<"conj">
         : src.is_neg() != dst.is_neg() ? kernelFamily<"neg">
                                        : kernelFamily<"cast">;
}

bool canCast(const at::Tensor& src, const at::Tensor& dst) {
  const bool both = src.is_conj() != dst.is_conj() && src.is_neg() != dst.is_neg();
  return !both && findKernelDType(dst.scalar_type()) &&
         castFamily(src, dst).find(src.scalar_type(), dst.device().index()) != nullptr;
}

void launchCast(const at::Tensor& src, const at::Tensor& dst) {
  const auto iter = at::TensorIteratorConfig()
                        .add_output(dst)
                        .add_const_input(src)
                        .resize_outputs(false)
                        .check_all_same_dtype(false)
                        .set_check_mem_overlap(false) // copyDeviceToDevice has
                        .build();
  // The source's type holds all its values, so each is rounded once: when it is stored.
  launchElementwise(castFamily(src, dst), iter, src.scalar_type());
}
// LITERALINCLUDE END: CAST

// LITERALINCLUDE START: COPY DEVICE TO DEVICE
void copyDeviceToDevice(const at::Tensor& src, const at::Tensor& dst) {
  if (src.device() == dst.device()) {
    at::assert_no_partial_overlap(dst, src); // else the result would depend on the order in which elements are copied
    if (canCopyOnDevice(src, dst)) {
      return copyOnDevice(src, dst);
    }
  } else if (canCopyAcrossDevices(src, dst)) {
    return copyAcrossDevices(src, dst);
  }
  // A driver that lacks a kernel for it.
  copyHostToDevice(toHost(src), dst, /*nonBlocking=*/false);
}
// LITERALINCLUDE END: COPY DEVICE TO DEVICE

// LITERALINCLUDE START: COPY FROM
at::Tensor copyFrom(const at::Tensor& self, const at::Tensor& dst, bool nonBlocking) {
  TORCH_CHECK(
      self.defined() && dst.defined(), "_copy_from: argument '", self.defined() ? "dst" : "self", "' is undefined");
  if (self.is_same(dst)) {
    return dst;
  }
  // copy_ broadcasts. Checked before expanding, so that the error is the one that the CPU gives.
  const auto sizes = at::infer_size_dimvector(dst.sizes(), self.sizes());
  TORCH_CHECK(
      dst.sizes() == c10::IntArrayRef(sizes), "output with shape ", dst.sizes(), " doesn't match the broadcast shape ",
      c10::IntArrayRef(sizes));
  const auto src = self.expand_as(dst);
  if (dst.numel() == 0) {
    return dst;
  }
  at::assert_no_internal_overlap(dst); // elements are copied in no particular order
  const bool fromDevice = src.device().type() == kDeviceType;
  const bool toDevice = dst.device().type() == kDeviceType;
  if (fromDevice && toDevice) {
    copyDeviceToDevice(src, dst);
  } else if (fromDevice && dst.is_cpu()) {
    copyDeviceToHost(src, dst, nonBlocking);
  } else if (toDevice && src.is_cpu()) {
    copyHostToDevice(src, dst, nonBlocking);
  } else {
    // Another accelerator: only the host can speak to both.
    dst.copy_(fromDevice ? toHost(src) : src.cpu());
  }
  return dst;
}

at::Tensor copyFromAndResize(const at::Tensor& self, const at::Tensor& dst) {
  dst.resize_(self.sizes());
  return copyFrom(self, dst, /*nonBlocking=*/false);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_copy_from", copyFrom);
  m.impl("_copy_from_and_resize", copyFromAndResize);
}
// LITERALINCLUDE END: COPY FROM

// LITERALINCLUDE START: COPY LAZY BITS
// A tensor that is conjugated or negated lazily would be materialised before _copy_from sees it: by clone, which
// copies, which materialises it first, until the stack is full. copyFrom knows the bits itself, so it takes such
// tensors as they are.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
// LITERALINCLUDE END: COPY LAZY BITS

} // namespace

// LITERALINCLUDE START: COPY ON DEVICE
bool canCopyOnDevice(const at::Tensor& src, const at::Tensor& dst) {
  if (!sameBits(src, dst)) {
    return canCast(src, dst);
  }
  return sameBytes(src, dst) || hasCopyKernel(dst.device().index());
}

void copyOnDevice(const at::Tensor& src, const at::Tensor& dst) {
  if (!sameBits(src, dst)) {
    return launchCast(src, dst);
  }
  if (!sameBytes(src, dst)) {
    return launchCopy(src, dst);
  }
  const auto stream = currentStreamHandle(dst.device().index());
  check(orMemcpyAsync(dst.mutable_data_ptr(), src.const_data_ptr(), dst.nbytes(), orMemcpyDeviceToDevice, stream));
}
// LITERALINCLUDE END: COPY ON DEVICE

} // namespace openreg
