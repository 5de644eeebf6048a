// Calls that copy and fill.
#pragma once

#include <utility>

#include "calls.h"
#include "stale.h"

namespace openreg {

/// The driver's Place is one end of a copy. It has resolveDevice and resolveHost, which are false where the bytes do
/// not lie in one allocation, and mayBeQueued: whether the memory stays where it is until a queued copy runs.
template <class Driver>
struct CopyCalls : Calls<Driver> {
  using typename Calls<Driver>::Device;
  using typename Calls<Driver>::Stream;
  using Calls<Driver>::all;
  using Calls<Driver>::device;
  using Calls<Driver>::find;
  using Calls<Driver>::invalid;
  using Place = Driver::Place;

  static orError_t memcpyWithStream(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream) {
    return copy(dst, src, size, kind, stream, false);
  }

  static orError_t memcpyAsync(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream) {
    return copy(dst, src, size, kind, stream, true);
  }

  static orError_t
  memcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t size, orStream_t stream) {
    Stream* it = find(stream);
    if (it == nullptr) {
      return invalid(stream);
    }
    Device& own = it->device();
    if (own.index != dstDevice && own.index != srcDevice) {
      return orDriverError(
          orErrorInvalidHandle, "argument 'stream' is a stream of device %d; expected one of device %d or %d",
          own.index, dstDevice, srcDevice);
    }
    if (const orError_t error = own.use()) {
      return error;
    }
    Device& other = device(own.index == dstDevice ? srcDevice : dstDevice);
    if (const orError_t error = other.failure.check()) {
      return error; // What a device has that no longer answers is gone, even if its pages are still there.
    }
    Ends ends;
    if (const orError_t error = resolve(ends.dst, "dst", dst, size, Want::Device, device(dstDevice))) {
      return error;
    }
    if (const orError_t error = resolve(ends.src, "src", src, size, Want::Device, device(srcDevice))) {
      return error;
    }
    return size == 0
               ? orSuccess
               : it->queueCopy(
                     number(stream), std::move(ends.dst), std::move(ends.src), size, &other != &own ? &other : nullptr);
  }

  static orError_t memsetAsync(void* ptr, int value, size_t size, orStream_t stream) {
    Stream* it = find(stream);
    if (it == nullptr) {
      return invalid(stream);
    }
    Device& device = it->device();
    if (const orError_t error = device.use()) {
      return error;
    }
    Place dst;
    if (const orError_t error = resolve(dst, "ptr", ptr, size, Want::Device, device)) {
      return error;
    }
    return size == 0 ? orSuccess : it->queueFill(number(stream), std::move(dst), value, size);
  }

 private:
  enum class Want { Device, Host, Either };

  struct Ends {
    Place dst;
    Place src;

    bool mayBeQueued() const { return dst.mayBeQueued() && src.mayBeQueued(); }
  };

  static orError_t copy(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream, bool queue) {
    Stream* it = find(stream);
    if (it == nullptr) {
      return invalid(stream);
    }
    Device& device = it->device();
    if (const orError_t error = device.use()) {
      return error;
    }
    const auto want = [kind](bool onDevice) {
      return kind == orMemcpyDefault ? Want::Either : onDevice ? Want::Device : Want::Host;
    };
    const bool toDevice = kind == orMemcpyHostToDevice || kind == orMemcpyDeviceToDevice;
    const bool fromDevice = kind == orMemcpyDeviceToHost || kind == orMemcpyDeviceToDevice;
    Ends ends;
    if (const orError_t error = resolve(ends.dst, "dst", dst, size, want(toDevice), device)) {
      return error;
    }
    if (const orError_t error = resolve(ends.src, "src", src, size, want(fromDevice), device)) {
      return error;
    }
    if (queue && (size == 0 || ends.mayBeQueued())) {
      return size == 0 ? orSuccess
                       : it->queueCopy(number(stream), std::move(ends.dst), std::move(ends.src), size, nullptr);
    }
    return it->copyNow(number(stream), ends.dst, ends.src, size);
  }

  /// Finds what a pointer of a copy points to; nothing is looked at if `size` is 0.
  /// @param argument Its name, for the message.
  /// @param device The device whose memory it must be if it is device memory.
  static orError_t
  resolve(Place& place, const char* argument, const void* ptr, size_t size, Want want, Device& device) {
    if (size == 0) {
      return orSuccess;
    }
    const Device* owner = all().deviceOf(ptr);
    if (owner == nullptr && want == Want::Device) {
      return orDriverError(
          orErrorInvalidValue, "argument '%s' is %p, which is not device memory; expected memory of device %d",
          argument, ptr, device.index);
    }
    if (owner == nullptr) {
      if (!place.resolveHost(ptr, size, device)) {
        const auto block = all().pinned().find(ptr);
        return orDriverError(
            orErrorInvalidValue,
            "argument '%s' is %p in pinned memory of %zu bytes; expected all %zu bytes of the copy to lie in it",
            argument, ptr, block ? block->size : 0, size);
      }
      return orSuccess;
    }
    if (owner->memory.stale(ptr)) {
      return stalePointer(argument, ptr, owner->index);
    }
    if (want == Want::Host) {
      return orDriverError(
          orErrorInvalidValue, "argument '%s' is %p, which is memory of device %d; expected host memory", argument, ptr,
          owner->index);
    }
    if (owner != &device) {
      return orDriverError(
          orErrorInvalidValue, "argument '%s' is %p, which is memory of device %d; expected memory of device %d",
          argument, ptr, owner->index, device.index);
    }
    if (!place.resolveDevice(ptr, size, device)) {
      return orDriverError(
          orErrorInvalidValue,
          "argument '%s' is %p; expected all %zu bytes from there to lie in one live allocation of device %d", argument,
          ptr, size, device.index);
    }
    return orSuccess;
  }
};

} // namespace openreg
