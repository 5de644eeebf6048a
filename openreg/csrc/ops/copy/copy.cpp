// copy_ between any two tensors of which at least one is on this device. PyTorch sends to, cpu, clone, contiguous and
// copy_ itself here.
#include "ops/copy/copy_device.h"
#include "ops/copy/copy_host.h"
#include "ops/copy/transfer.h"

#include "device/device.h"

#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace openreg {
namespace {

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
} // namespace openreg
