/**
 * @file board.h
 * @brief The board: shared memory in which the host and all executors see how far every stream has come.
 *
 * Each side writes to its own part. An executor has the others' read-only, so that one that has gone wild cannot spoil
 * what another says: a part begins on a page of its own, whatever the machine's pages are (64 KiB are the largest).
 */
#pragma once

#include <utility>

#include "fence.h"
#include "protocol.h"

namespace openreg::process {

/// What the host says.
struct alignas(4096) HostBoard {
  std::atomic<uint32_t> deviceCount{0};
  std::atomic<uint32_t> lost[kMaxDevices]{};     ///< Of each device: its executor is gone: waiting for it ends.
  std::atomic<uint32_t> sleepers[kMaxDevices]{}; ///< Threads of the host that sleep on fences of each device.
  Fence streams[kMaxDevices * kMaxStreams];      ///< FenceKind::Host, first those of device 0's streams.
  unsigned char reserved[65392];
};

/// What the executor of one device says.
struct alignas(4096) DeviceBoard {
  std::atomic<uint32_t> failed{0}; ///< Not 0: work has failed. Written after `error` and `text`.
  std::atomic<int32_t> error{0};
  char text[1024] = "";
  char lastWords[500] = "";                          ///< Why it is about to exit by itself; "" if it does not say.
  std::atomic<uint32_t> sleepers[kMaxDevices + 1]{}; ///< Its threads asleep on fences of each device; the host's last.
  Fence streams[kMaxStreams];                        ///< FenceKind::Device.
  unsigned char reserved[47552];
};

static_assert(sizeof(HostBoard) % 65536 == 0 && sizeof(DeviceBoard) % 65536 == 0);

struct Board {
  HostBoard host;
  DeviceBoard devices[kMaxDevices];

  /// In the place of a device's index: the host.
  static constexpr int kHost = kMaxDevices;

  Fence& fence(int device, uint32_t stream, bool ofHost) {
    return const_cast<Fence&>(std::as_const(*this).fence(device, stream, ofHost));
  }
  const Fence& fence(int device, uint32_t stream, bool ofHost) const {
    return ofHost ? host.streams[static_cast<uint32_t>(device) * kMaxStreams + stream]
                  : devices[device].streams[stream];
  }

  /// Whether a thread of any side sleeps on a fence of `owner`, a device or the host.
  bool somebodySleepsOn(int owner) const {
    if (owner != kHost && host.sleepers[owner].load() != 0) {
      return true;
    }
    const uint32_t count = host.deviceCount.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < count; ++i) {
      if (devices[i].sleepers[owner].load() != 0) {
        return true;
      }
    }
    return false;
  }
};

} // namespace openreg::process
