// Calls that copy and fill.
#include <cstring>

#include "calls.h"
#include "copy.h"
#include "lookup.h"
#include "openreg_driver.h"

namespace openreg::process {

namespace {

/// The ends of a copy on one stream.
struct Ends {
  Place dst;
  Place src;

  orError_t resolve(void* to, const void* from, size_t size, orMemcpyKind kind, Device& device) {
    const auto want = [kind](bool onDevice) {
      return kind == orMemcpyDefault ? Want::Either : onDevice ? Want::Device : Want::Host;
    };
    const bool toDevice = kind == orMemcpyHostToDevice || kind == orMemcpyDeviceToDevice;
    const bool fromDevice = kind == orMemcpyDeviceToHost || kind == orMemcpyDeviceToDevice;
    if (const orError_t error = process::resolve(dst, "dst", to, size, want(toDevice), device)) {
      return error;
    }
    return process::resolve(src, "src", from, size, want(fromDevice), device);
  }

  /// An executor can do it alone.
  bool mayBeQueued() const { return !dst.pageable && !src.pageable; }
};

orError_t
queueCopy(Device& device, Stream& stream, uint64_t handle, const Ends& ends, size_t size, Device* other = nullptr) {
  CopyFrame frame;
  frame.toWhere = ends.dst.where;
  frame.fromWhere = ends.src.where;
  frame.to = ends.dst.at;
  frame.from = ends.src.at;
  frame.size = size;
  for (const Place* end : {&ends.dst, &ends.src}) {
    if (end->where == Where::Pinned) {
      if (const orError_t error = host().shared().pinned.open(end->host, device)) {
        return error;
      }
    }
  }
  Point point;
  if (const orError_t error = device.submit(stream, handle, Kind::Copy, frame, {}, {}, &point)) {
    return error;
  }
  for (const Place* end : {&ends.dst, &ends.src}) {
    if (end->where == Where::Pinned) {
      host().shared().pinned.addUse(end->host, point); // So that freeing it waits.
    }
  }
  if (other != nullptr && other != &device) {
    other->noteVisit(point); // Likewise.
  }
  return orSuccess;
}

/// Waits for the stream, and for the copy if it is not done by then.
orError_t copyNow(Device& device, Stream& stream, uint64_t handle, const Ends& ends, size_t size) {
  if (size != 0 && ends.mayBeQueued() && (ends.dst.host == nullptr || ends.src.host == nullptr)) {
    if (const orError_t error = queueCopy(device, stream, handle, ends, size)) {
      return error;
    }
    size = 0;
  }
  Point end;
  if (const orError_t error = device.mark(stream, handle, end)) {
    return error;
  }
  device.wait(end);
  if (const orError_t error = device.surface(); error != orSuccess || size == 0) {
    return error;
  }
  if (ends.dst.host != nullptr && ends.src.host != nullptr) {
    std::memmove(const_cast<char*>(ends.dst.host), ends.src.host, size);
    return orSuccess;
  }
  return copyStaged(stream, handle, ends.dst, ends.src, size);
}

orError_t copy(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream, bool queue) {
  Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  Device& device = deviceOf(*it);
  if (const orError_t error = device.use()) {
    return error;
  }
  Ends ends;
  if (const orError_t error = ends.resolve(dst, src, size, kind, device)) {
    return error;
  }
  if (queue && (size == 0 || ends.mayBeQueued())) {
    return size == 0 ? orSuccess : queueCopy(device, *it, number(stream), ends, size);
  }
  return copyNow(device, *it, number(stream), ends, size);
}

} // namespace

orError_t memcpyWithStream(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream) {
  return copy(dst, src, size, kind, stream, false);
}

orError_t memcpyAsync(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream) {
  return copy(dst, src, size, kind, stream, true);
}

orError_t memcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t size, orStream_t stream) {
  Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  Device& device = deviceOf(*it);
  if (device.index != dstDevice && device.index != srcDevice) {
    return orDriverError(
        orErrorInvalidHandle, "argument 'stream' is a stream of device %d; expected one of device %d or %d",
        device.index, dstDevice, srcDevice);
  }
  if (const orError_t error = device.use()) {
    return error;
  }
  Device& other = host().device(device.index == dstDevice ? srcDevice : dstDevice);
  if (const orError_t error = other.failure.check()) {
    return error; // What a device has that no longer answers is gone, even if its pages are still there.
  }
  Ends ends;
  if (const orError_t error = resolve(ends.dst, "dst", dst, size, Want::Device, host().device(dstDevice))) {
    return error;
  }
  if (const orError_t error = resolve(ends.src, "src", src, size, Want::Device, host().device(srcDevice))) {
    return error;
  }
  if (size == 0) {
    return orSuccess;
  }
  if (&other != &device && !host().peers.introduce(device, other)) {
    const orError_t error = device.failure.check();
    return error != orSuccess ? error
                              : orDriverError(
                                    orErrorDeviceLost, "device %d or %d has no executor; expected both to have one",
                                    dstDevice, srcDevice);
  }
  return queueCopy(device, *it, number(stream), ends, size, &other);
}

orError_t memsetAsync(void* ptr, int value, size_t size, orStream_t stream) {
  Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  Device& device = deviceOf(*it);
  if (const orError_t error = device.use()) {
    return error;
  }
  Place dst;
  if (const orError_t error = resolve(dst, "ptr", ptr, size, Want::Device, device)) {
    return error;
  }
  if (size == 0) {
    return orSuccess;
  }
  FillFrame frame;
  frame.value = value;
  frame.address = dst.at;
  frame.size = size;
  return device.submit(*it, number(stream), Kind::Fill, frame);
}

} // namespace openreg::process
