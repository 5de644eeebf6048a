// Calls that copy and fill.
#include <cstring>

#include "calls.h"
#include "copy.h"
#include "simulator.h"

namespace openreg::sim {

namespace {

/// The ends of a copy on one stream.
struct Ends {
  Place dst;
  Place src;

  orError_t resolve(void* to, const void* from, size_t size, orMemcpyKind kind, const Device& device) {
    const auto want = [kind](bool onDevice) {
      return kind == orMemcpyDefault ? Want::Either : onDevice ? Want::Device : Want::Host;
    };
    const bool toDevice = kind == orMemcpyHostToDevice || kind == orMemcpyDeviceToDevice;
    const bool fromDevice = kind == orMemcpyDeviceToHost || kind == orMemcpyDeviceToDevice;
    if (const orError_t error = sim::resolve(dst, "dst", to, size, want(toDevice), device)) {
      return error;
    }
    return sim::resolve(src, "src", from, size, want(fromDevice), device);
  }

  /// A queued copy may touch only memory that stays where it is.
  bool mayBeQueued() const { return (dst.onDevice || dst.pinned) && (src.onDevice || src.pinned); }
};

/// Copies in the calling thread, at its turn on the stream: no hand-over, no wake-up, and on an idle stream no thread.
orError_t copyNow(Stream& stream, uint64_t handle, const Ends& ends, size_t size) {
  const Turn turn(stream, handle);
  if (turn.error() != orSuccess) {
    return turn.error();
  }
  Device& device = stream.device();
  if (size != 0 && !device.failure.exists()) {
    device.delay(device.copyDelayNs.load(std::memory_order_relaxed));
  }
  if (const orError_t error = device.failure.surface()) {
    return error;
  }
  if (size != 0) {
    std::memmove(ends.dst.bytes, ends.src.bytes, size);
  }
  return orSuccess;
}

orError_t copy(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream, bool queue) {
  Stream* it = simulator().streams.find(number(stream));
  if (it == nullptr) {
    return invalidHandle("stream", "a stream", number(stream));
  }
  Device& device = it->device();
  if (const orError_t error = device.use()) {
    return error;
  }
  Ends ends;
  if (const orError_t error = ends.resolve(dst, src, size, kind, device)) {
    return error;
  }
  if (queue && (size == 0 || ends.mayBeQueued())) {
    return size == 0 ? orSuccess
                     : it->submit<CopyCommand>(number(stream), std::move(ends.dst), std::move(ends.src), size);
  }
  return copyNow(*it, number(stream), ends, size);
}

} // namespace

orError_t memcpyWithStream(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream) {
  return copy(dst, src, size, kind, stream, false);
}

orError_t memcpyAsync(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream) {
  return copy(dst, src, size, kind, stream, true);
}

orError_t memcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t size, orStream_t stream) {
  Simulator& all = simulator();
  Stream* it = all.streams.find(number(stream));
  if (it == nullptr) {
    return invalidHandle("stream", "a stream", number(stream));
  }
  Device& device = it->device();
  if (device.index != dstDevice && device.index != srcDevice) {
    return orDriverError(
        orErrorInvalidHandle, "argument 'stream' is a stream of device %d; expected one of device %d or %d",
        device.index, dstDevice, srcDevice);
  }
  if (const orError_t error = device.use()) {
    return error;
  }
  const Device& peer = *all.devices[static_cast<size_t>(device.index == dstDevice ? srcDevice : dstDevice)];
  if (const orError_t error = peer.failure.check()) {
    return error; // What a device has that no longer answers is gone.
  }
  Ends ends;
  if (const orError_t error =
          resolve(ends.dst, "dst", dst, size, Want::Device, *all.devices[static_cast<size_t>(dstDevice)])) {
    return error;
  }
  if (const orError_t error =
          resolve(ends.src, "src", src, size, Want::Device, *all.devices[static_cast<size_t>(srcDevice)])) {
    return error;
  }
  if (size == 0) {
    return orSuccess;
  }
  Position end = 0;
  if (const orError_t error =
          it->submitAt<CopyCommand>(number(stream), end, 0, std::move(ends.dst), std::move(ends.src), size)) {
    return error;
  }
  if (Device& other = *all.devices[static_cast<size_t>(device.index == dstDevice ? srcDevice : dstDevice)];
      &other != &device) {
    other.noteVisit(*it, end);
  }
  return orSuccess;
}

orError_t memsetAsync(void* ptr, int value, size_t size, orStream_t stream) {
  Stream* it = simulator().streams.find(number(stream));
  if (it == nullptr) {
    return invalidHandle("stream", "a stream", number(stream));
  }
  Device& device = it->device();
  if (const orError_t error = device.use()) {
    return error;
  }
  Place dst;
  if (const orError_t error = resolve(dst, "ptr", ptr, size, Want::Device, device)) {
    return error;
  }
  return size == 0 ? orSuccess : it->submit<FillCommand>(number(stream), std::move(dst), value, size);
}

} // namespace openreg::sim
