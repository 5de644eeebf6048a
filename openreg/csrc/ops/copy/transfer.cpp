// Copies between the host and a device, which return early where that can be right: the host's memory has to be pinned.
#include "ops/copy/transfer.h"

#include "device/error.h"
#include "ops/copy/copy_device.h"
#include "ops/copy/copy_host.h"
#include "pinned/pinned.h"
#include "stream/current_stream.h"
#include "stream/handle.h"

#include <ATen/core/Tensor.h>

namespace openreg {
namespace {

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

// Pinned memory stays pinned in the cache, so a model of many gigabytes must not pass through it.
constexpr size_t kMaxStagedBytes = size_t{1} << 20;
// LITERALINCLUDE END: STAGING

} // namespace

// LITERALINCLUDE START: COPY HOST TO DEVICE
void copyHostToDevice(const at::Tensor& src, const at::Tensor& dst, bool nonBlocking) {
  // What travels are dense bytes. Casts and other strides are the device's work, behind the copy on the same stream.
  auto dense = src;
  if (!canTravel(src, dst, nonBlocking)) {
    nonBlocking = nonBlocking && dst.nbytes() <= kMaxStagedBytes;
    if (nonBlocking || !canTravel(src, dst, false)) {
      // The CPU casts, broadcasts and resolves the bits. What the caller writes into src from now on is not seen. The
      // block goes back to the cache at the end, and is used again when the copy is done.
      dense = emptyDense(dst, dst.options().device(at::kCPU).pinned_memory(nonBlocking)).copy_(src);
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

} // namespace openreg
