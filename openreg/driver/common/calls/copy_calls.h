// Calls that copy and fill.
#pragma once

#include <utility>

#include "calls.h"
#include "common/graph/capture.h"
#include "common/stale.h"

namespace openreg {

/// The driver's Place is one end of a copy. It has resolveDevice and resolveHost, which are false where the bytes do
/// not lie in one allocation, and mayBeQueued: whether the memory stays where it is until a queued copy runs.
template <class Driver>
struct CopyCalls {
  using Given = openreg::Given<Driver>;
  using Device = Driver::Device;
  using Place = Driver::Place;

  static void memcpyWithStream(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream) {
    auto& it = Given::usedStream(stream);
    const auto [to, from] = resolveBoth(dst, src, size, kind, it.device());
    Given::all().captures.refuse(it, kNotExecuted);
    it.copyNow(number(stream), to, from, size);
  }

  static void memcpyAsync(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream) {
    auto& it = Given::usedStream(stream);
    auto [to, from] = resolveBoth(dst, src, size, kind, it.device());
    if (size == 0) {
      return;
    }
    const bool mayBeQueued = to.mayBeQueued() && from.mayBeQueued();
    if (it.captures()) [[unlikely]] {
      if (!mayBeQueued) {
        Given::all().captures.refuse(it, "a launch of its graph would copy pageable memory, which may be gone by then");
      } else if (capture(it, number(stream), dst, src, size)) {
        return;
      }
    }
    if (mayBeQueued) {
      it.queueCopy(number(stream), std::move(to), std::move(from), size, nullptr);
    } else {
      it.copyNow(number(stream), to, from, size);
    }
  }

  static void
  memcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t size, orStream_t stream) {
    auto& it = Given::stream(stream);
    Device& own = it.device();
    if (own.index != dstDevice && own.index != srcDevice) {
      throw Refused{orDriverError(
          orErrorInvalidHandle, "argument 'stream' is a stream of device %d; expected one of device %d or %d",
          own.index, dstDevice, srcDevice)};
    }
    require(own.use());
    Device& other = Given::device(own.index == dstDevice ? srcDevice : dstDevice);
    // What a device has that no longer answers is gone, even if its pages are still there.
    require(other.failure.check());
    Place to = resolve("dst", dst, size, Want::Device, Given::device(dstDevice));
    Place from = resolve("src", src, size, Want::Device, Given::device(srcDevice));
    Device* peer = &other != &own ? &other : nullptr;
    if (size == 0 || (it.captures() && capture(it, number(stream), dst, src, size, peer))) {
      return;
    }
    it.queueCopy(number(stream), std::move(to), std::move(from), size, peer);
  }

  static void memsetAsync(void* ptr, int value, size_t size, orStream_t stream) {
    auto& it = Given::usedStream(stream);
    Place dst = resolve("ptr", ptr, size, Want::Device, it.device());
    if (size == 0) {
      return;
    }
    if (it.captures() &&
        Given::all().captures.add(it, number(stream), FillWork{static_cast<char*>(ptr), value, size})) {
      return;
    }
    it.queueFill(number(stream), std::move(dst), value, size);
  }

 private:
  /// False if the stream has ceased to capture meanwhile.
  static bool
  capture(auto& stream, uint64_t handle, void* dst, const void* src, size_t size, const Device* peer = nullptr) {
    return Given::all().captures.add(
        stream, handle,
        CopyWork{
            .dst = static_cast<char*>(dst),
            .src = static_cast<const char*>(src),
            .size = size,
            .toHost = Given::all().deviceOf(dst) == nullptr,
            .fromHost = Given::all().deviceOf(src) == nullptr,
            .peer = peer != nullptr ? peer->index : -1});
  }

  enum class Want { Device, Host, Either };

  static std::pair<Place, Place>
  resolveBoth(void* dst, const void* src, size_t size, orMemcpyKind kind, Device& device) {
    const auto want = [kind](bool onDevice) {
      return kind == orMemcpyDefault ? Want::Either : onDevice ? Want::Device : Want::Host;
    };
    const bool toDevice = kind == orMemcpyHostToDevice || kind == orMemcpyDeviceToDevice;
    const bool fromDevice = kind == orMemcpyDeviceToHost || kind == orMemcpyDeviceToDevice;
    Place to = resolve("dst", dst, size, want(toDevice), device);
    return {std::move(to), resolve("src", src, size, want(fromDevice), device)};
  }

  /// Finds what a pointer of a copy points to; nothing is looked at if `size` is 0.
  /// @param argument Its name, for the message.
  /// @param device The device whose memory it must be if it is device memory.
  static Place resolve(const char* argument, const void* ptr, size_t size, Want want, Device& device) {
    Place place;
    if (size == 0) {
      return place;
    }
    const Device* owner = Given::all().deviceOf(ptr);
    if (owner == nullptr && want == Want::Device) {
      throw Refused{orDriverError(
          orErrorInvalidValue, "argument '%s' is %p, which is not device memory; expected memory of device %d",
          argument, ptr, device.index)};
    }
    if (owner == nullptr) {
      if (!place.resolveHost(ptr, size, device)) {
        const auto block = Given::all().pinned().find(ptr);
        throw Refused{orDriverError(
            orErrorInvalidValue,
            "argument '%s' is %p in pinned memory of %zu bytes; expected all %zu bytes of the copy to lie in it",
            argument, ptr, block ? block->size : 0, size)};
      }
      return place;
    }
    if (owner->memory.stale(ptr)) {
      refuseStale(argument, ptr, owner->index);
    }
    if (want == Want::Host) {
      throw Refused{orDriverError(
          orErrorInvalidValue, "argument '%s' is %p, which is memory of device %d; expected host memory", argument, ptr,
          owner->index)};
    }
    if (owner != &device) {
      throw Refused{orDriverError(
          orErrorInvalidValue, "argument '%s' is %p, which is memory of device %d; expected memory of device %d",
          argument, ptr, owner->index, device.index)};
    }
    if (!place.resolveDevice(ptr, size, device)) {
      throw Refused{orDriverError(
          orErrorInvalidValue,
          "argument '%s' is %p; expected all %zu bytes from there to lie in one live allocation of device %d", argument,
          ptr, size, device.index)};
    }
    return place;
  }
};

} // namespace openreg
