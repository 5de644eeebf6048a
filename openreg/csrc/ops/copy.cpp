// copy_ between any two tensors of which at least one is on this device. PyTorch sends to, cpu, clone, contiguous and
// copy_ itself here.
#include "ops/copy_device.h"
#include "ops/copy_host.h"
#include "ops/copy_kernel.h"

#include "device/device.h"
#include "device/error.h"
#include "stream/handle.h"

#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: COPY SAME BYTES
// Whether a copy is moving bytes that lie in one piece and in the same order.
bool sameBytes(const at::Tensor& src, const at::Tensor& dst) {
  return sameBits(src, dst) && src.sizes() == dst.sizes() && src.strides() == dst.strides() &&
         src.is_non_overlapping_and_dense();
}
// LITERALINCLUDE END: COPY SAME BYTES

// LITERALINCLUDE START: COPY HOST TO DEVICE
void copyHostToDevice(const at::Tensor& src, const at::Tensor& dst, bool nonBlocking) {
  if (!sameBytes(src, dst)) {
    return fromHost(src, dst);
  }
  const auto stream = currentStreamHandle(dst.device().index());
  // The driver decides whether the host memory lets it return early: pinned memory does, pageable memory does not.
  check((nonBlocking ? orMemcpyAsync : orMemcpyWithStream)(
      dst.mutable_data_ptr(), src.const_data_ptr(), dst.nbytes(), orMemcpyHostToDevice, stream));
}
// LITERALINCLUDE END: COPY HOST TO DEVICE

// LITERALINCLUDE START: COPY DEVICE TO HOST
void copyDeviceToHost(const at::Tensor& src, const at::Tensor& dst, bool nonBlocking) {
  if (sameBytes(src, dst)) {
    const auto stream = currentStreamHandle(src.device().index());
    return check((nonBlocking ? orMemcpyAsync : orMemcpyWithStream)(
        dst.mutable_data_ptr(), src.const_data_ptr(), dst.nbytes(), orMemcpyDeviceToHost, stream));
  }
  // One element out of a large matrix should not bring the matrix along: gather on the device if it can.
  if (!src.is_non_overlapping_and_dense() && hasCopyKernel(src.device().index())) {
    auto dense = at::empty_like(src, at::MemoryFormat::Contiguous);
    dense._set_conj(src.is_conj());
    dense._set_neg(src.is_neg());
    if (copyOnDevice(src, dense)) {
      dst.copy_(toHost(dense));
      return;
    }
  }
  dst.copy_(toHost(src));
}
// LITERALINCLUDE END: COPY DEVICE TO HOST

// LITERALINCLUDE START: COPY DEVICE TO DEVICE
void copyDeviceToDevice(const at::Tensor& src, const at::Tensor& dst) {
  if (src.device() == dst.device()) {
    // Elements are copied in no particular order, so what overlaps would get either value.
    at::assert_no_internal_overlap(dst);
    at::assert_no_partial_overlap(dst, src);
    if (copyOnDevice(src, dst)) {
      return;
    }
  } else if (sameBytes(src, dst)) {
    return copyAcrossDevices(src, dst);
  }
  // A change of type or strides between devices, or a driver without the kernel.
  fromHost(toHost(src), dst);
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
  const bool fromDevice = src.device().type() == kDeviceType;
  const bool toDevice = dst.device().type() == kDeviceType;
  if (fromDevice && toDevice) {
    copyDeviceToDevice(src, dst);
  } else if (fromDevice && dst.is_cpu()) {
    copyDeviceToHost(src, dst, nonBlocking);
  } else if (toDevice && src.is_cpu()) {
    at::assert_no_internal_overlap(dst);
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
} // namespace openreg
