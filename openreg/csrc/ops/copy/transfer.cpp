// Bytes between the host and a device, and between devices, whatever the strides: dense bytes travel, and either end
// does the rest.
#include "ops/copy/copy.h"

#include "device/error.h"
// LITERALINCLUDE START: COPY IN A CAPTURE
#include "graph/capture.h"
// LITERALINCLUDE END: COPY IN A CAPTURE
#include "pinned/pinned.h"
#include "stream/current_stream.h"
#include "stream/event.h"
#include "stream/handle.h"

#include <ATen/EmptyTensor.h>
// LITERALINCLUDE START: STAGING
#include <ATen/ExpandUtils.h>
// LITERALINCLUDE END: STAGING
#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>

namespace openreg {
namespace {

size_t spanBytes(const at::Tensor& tensor) {
  return at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.dtype().itemsize());
}

// LITERALINCLUDE START: MOVE BYTES
// Moves the bytes of `src` to `dst`, which is laid out alike, in the order of the current stream.
void moveBytes(const at::Tensor& src, const at::Tensor& dst, bool nonBlocking) {
  const bool toDevice = src.is_cpu();
  const auto device = (toDevice ? dst : src).device().index();
  if (nonBlocking) {
    // First, so that nothing can fail between the copy and this.
    recordUse((toDevice ? src : dst).storage().data_ptr(), currentStream(device));
  }
  check((nonBlocking ? orMemcpyAsync : orMemcpyWithStream)(
      dst.mutable_data_ptr(), src.const_data_ptr(), dst.nbytes(),
      toDevice ? orMemcpyHostToDevice : orMemcpyDeviceToHost, currentStreamHandle(device)));
}
// LITERALINCLUDE END: MOVE BYTES

// LITERALINCLUDE START: STAGING
// Whether a device can be given this memory to copy from, or to, after the call has returned.
bool canBeQueued(const at::Tensor& host) {
  return host.is_non_overlapping_and_dense() && isPinned(host.const_data_ptr());
}

// Whether the bytes of `src` can travel themselves; otherwise those of a copy do.
bool canTravel(const at::Tensor& src, const at::Tensor& dst, bool nonBlocking) {
  const bool ready = nonBlocking ? canBeQueued(src) : src.is_non_overlapping_and_dense() && sameBits(src, dst);
  return ready && canCopyOnDevice(src, dst);
}

// As emptyDense(), for bytes that the device copies after the call has returned.
at::Tensor emptyStaged(const at::Tensor& like) {
  const auto strides = like.is_non_overlapping_and_dense() ? like.strides().vec()
                                                           : at::infer_dense_strides(like.sizes(), like.strides());
  auto made = emptyPinned(like.sizes(), strides, like.scalar_type());
  made._set_conj(like.is_conj());
  made._set_neg(like.is_neg());
  return made;
}

// Pinned memory stays pinned in the cache, so a model of many gigabytes must not pass through it.
constexpr size_t kMaxStagedBytes = size_t{1} << 20;
// LITERALINCLUDE END: STAGING

} // namespace

// LITERALINCLUDE START: EMPTY DENSE
at::Tensor emptyDense(const at::Tensor& like, const at::TensorOptions& options) {
  auto made = at::empty_like(like, options);
  // Lazy conjugation and negation are bits of the tensor, not of its memory: who reads the bytes must have them too.
  made._set_conj(like.is_conj());
  made._set_neg(like.is_neg());
  return made;
}
// LITERALINCLUDE END: EMPTY DENSE

// LITERALINCLUDE START: COPY TO HOST
at::Tensor toHost(const at::Tensor& self) {
  // Laid out like `self`, gaps and overlaps included, so that its bytes are the device's bytes.
  auto host = at::empty_strided(self.sizes(), self.strides(), self.options().device(at::kCPU));
  host._set_conj(self.is_conj());
  host._set_neg(self.is_neg());
  check(orMemcpyWithStream(
      host.mutable_data_ptr(), self.const_data_ptr(), spanBytes(self), orMemcpyDeviceToHost,
      currentStreamHandle(self.device().index())));
  return host;
}

void intoHost(const at::Tensor& src, const at::Tensor& dst) {
  // One element out of a large matrix should not bring the matrix along: gather on the device if it can.
  if (spanBytes(src) > src.nbytes() && hasCopyKernel(src.device().index())) {
    const auto dense = emptyDense(src, src.options());
    launchCopy(src, dense);
    dst.copy_(toHost(dense));
    return;
  }
  dst.copy_(toHost(src)); // the CPU casts, broadcasts and resolves the bits
}
// LITERALINCLUDE END: COPY TO HOST

// LITERALINCLUDE START: COPY RUNS
void copyRuns(const at::Tensor& src, const at::Tensor& dst) {
  const auto stream = currentStreamHandle(dst.device().index());
  // Only walks over the addresses: it merges the dimensions that are contiguous in both.
  auto iter = at::TensorIteratorConfig()
                  .add_output(dst)
                  .add_const_input(src)
                  .check_all_same_device(false)
                  .resize_outputs(false)
                  .set_check_mem_overlap(false) // copyFrom() has
                  .build();
  const auto size = dst.element_size();
  const auto copy = [&](char** data, const int64_t* strides, int64_t count, int64_t rows) {
    const bool together = strides[0] == size && strides[1] == size;
    const auto runs = together ? int64_t{1} : count;
    const auto bytes = static_cast<size_t>(together ? count * size : size);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t run = 0; run < runs; ++run) {
        check(orMemcpyWithStream(
            data[0] + row * strides[2] + run * strides[0], data[1] + row * strides[3] + run * strides[1], bytes,
            orMemcpyHostToDevice, stream));
      }
    }
  };
  iter.serial_for_each(copy, {0, iter.numel()});
}
// LITERALINCLUDE END: COPY RUNS

// LITERALINCLUDE START: COPY HOST TO DEVICE
void copyHostToDevice(const at::Tensor& src, const at::Tensor& dst, bool nonBlocking) {
  // What travels are dense bytes. Casts and other strides are the device's work, behind the copy on the same stream.
  auto dense = src;
  if (!canTravel(src, dst, nonBlocking)) {
    // LITERALINCLUDE START: COPY IN A CAPTURE
    checkNotCapturing(
        dst.device().index(), "copy from the host",
        "each replay would copy the values of now. Copy before the capture, or from a tensor in pinned memory without "
        "gaps, of the same type, with non_blocking=True");
    // LITERALINCLUDE END: COPY IN A CAPTURE
    nonBlocking = nonBlocking && dst.nbytes() <= kMaxStagedBytes && hasPinnedMemory();
    if (nonBlocking || !canTravel(src, dst, false)) {
      // The CPU casts, broadcasts and resolves the bits. What the caller writes into src from now on is not seen. The
      // block goes back to the cache at the end, and is used again when the copy is done.
      dense = (nonBlocking ? emptyStaged(dst) : emptyDense(dst, dst.options().device(at::kCPU))).copy_(src);
    }
  }
  if (sameBytes(dense, dst)) {
    return moveBytes(dense, dst, nonBlocking);
  }
  if (!canCopyOnDevice(dense, dst)) {
    return copyRuns(dense, dst);
  }
  // Between dst's elements lies what belongs to others. The device writes its own, and nobody reads the others.
  const auto arrived = emptyDense(dense, dense.options().device(dst.device()));
  moveBytes(dense, arrived, nonBlocking);
  copyOnDevice(arrived, dst);
}
// LITERALINCLUDE END: COPY HOST TO DEVICE

// LITERALINCLUDE START: COPY DEVICE TO HOST
void copyDeviceToHost(const at::Tensor& src, const at::Tensor& dst, bool nonBlocking) {
  nonBlocking = nonBlocking && canBeQueued(dst); // else the bytes have to be there when this returns
  if (sameBytes(src, dst)) {
    return moveBytes(src, dst, nonBlocking);
  }
  if (!nonBlocking) {
    return intoHost(src, dst);
  }
  const auto leaving = emptyDense(dst, dst.options().device(src.device()));
  leaving.copy_(src);
  moveBytes(leaving, dst, true);
}
// LITERALINCLUDE END: COPY DEVICE TO HOST

// LITERALINCLUDE START: COPY ACROSS DEVICES
bool canCopyAcrossDevices(const at::Tensor& src, const at::Tensor& dst) {
  return (src.is_non_overlapping_and_dense() || hasCopyKernel(src.device().index())) && canCopyOnDevice(src, dst);
}

void copyAcrossDevices(const at::Tensor& src, const at::Tensor& dst) {
  if (!sameBytes(src, dst)) {
    // Dense bytes travel. Each device does what concerns the strides, and the types, of its own tensor.
    const auto leaving = src.is_non_overlapping_and_dense() ? src : emptyDense(src, src.options());
    if (!leaving.is_same(src)) {
      copyOnDevice(src, leaving);
    }
    const auto arrived = emptyDense(leaving, leaving.options().device(dst.device()));
    copyAcrossDevices(leaving, arrived);
    return copyOnDevice(arrived, dst);
  }
  const auto from = src.device().index();
  const auto to = dst.device().index();
  const auto fromStream = currentStreamHandle(from);
  const auto toStream = currentStreamHandle(to);
  // One stream does the copy, the source's. It has to wait for those who still use dst on the other device, and the
  // other device's later work has to wait for it.
  const Event dstIsFree(to);
  dstIsFree.record(toStream);
  dstIsFree.block(fromStream);
  const auto error =
      orMemcpyPeerAsync(dst.mutable_data_ptr(), to, src.const_data_ptr(), from, dst.nbytes(), fromStream);
  if (error == orErrorNotImplemented) {
    (void)orGetLastError();
    return copyHostToDevice(toHost(src), dst, /*nonBlocking=*/false); // the host is the only way between these devices
  }
  check(error);
  const Event copied(from);
  copied.record(fromStream);
  copied.block(toStream);
}
// LITERALINCLUDE END: COPY ACROSS DEVICES

} // namespace openreg
