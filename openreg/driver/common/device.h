// What a device is in every driver: its memory, its failure, and whether it is used.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "common/memory/memory.h"
#include "failure.h"
#include "options.h"

namespace openreg {

/// The part of a device that has nothing to do with where its work is done.
class DeviceBase {
 public:
  DeviceBase(int index, const Options& options) : index(index), memory(index, options.memory, options.check) {}

  const int index;
  Memory memory;   ///< What is allocated where.
  Failure failure; ///< What the device's work has failed with, or its loss.

  /// Whether it has been used; a fork then makes the child unusable.
  bool active() const { return active_.load(std::memory_order_acquire); }

  /// Every call that needs the device comes through here: marks it used, and returns its failure if that has surfaced.
  orError_t use() {
    if (!active()) [[unlikely]] {
      active_.store(true);
    }
    return failure.check();
  }

  // Whether its kernels may be given memory of `peer`. Enabling and disabling are false if it is so already.
  bool canAccess(const DeviceBase& peer) const { return (peers_.load(std::memory_order_acquire) & peer.bit()) != 0; }
  bool canAccessAny() const { return peers_.load(std::memory_order_relaxed) != 0; }
  bool enablePeer(const DeviceBase& peer) { return (peers_.fetch_or(peer.bit()) & peer.bit()) == 0; }
  bool disablePeer(const DeviceBase& peer) { return (peers_.fetch_and(~peer.bit()) & peer.bit()) != 0; }

  /// In a word with one bit for each device, its own.
  uint32_t bit() const { return 1u << index; }

  /// Whether `handle` is the default stream's.
  bool isDefault(uint64_t handle) const { return default_.load(std::memory_order_acquire) == handle; }

 protected:
  /// The default stream's handle; `make` makes the stream, at the first call and after a reset.
  template <class Streams, class Make>
  uint64_t findOrMakeDefault(const Streams& streams, Make make) {
    uint64_t handle = default_.load(std::memory_order_acquire);
    if (streams.find(handle) == nullptr) {
      const std::lock_guard lock(makingDefault_);
      handle = default_.load(std::memory_order_acquire);
      if (streams.find(handle) == nullptr) {
        handle = make();
        default_.store(handle, std::memory_order_release);
      }
    }
    return handle;
  }

  std::atomic<bool> active_{false};
  std::atomic<uint32_t> peers_{0}; ///< A bit for each device whose memory kernels of this one may be given.

 private:
  std::atomic<uint64_t> default_{0}; ///< After a reset it names nothing.
  std::mutex makingDefault_;
};

} // namespace openreg
