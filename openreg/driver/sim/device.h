// One simulated device.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "failure.h"
#include "memory.h"
#include "options.h"
#include "progress.h"

namespace openreg::sim {

class Stream;

/// A device and its life: unused, in use, reset to unused.
class Device {
 public:
  Device(int index, const Options& options);

  const int index;
  Memory memory;
  Failure failure;
  std::atomic<int64_t> kernelDelayNs;
  std::atomic<int64_t> copyDelayNs;

  /// Whether it has been used; a fork then makes the child unusable.
  bool active() const { return active_.load(std::memory_order_acquire); }

  /// Every call that needs the device comes through here: marks it used, and returns its failure if that has surfaced.
  orError_t use() {
    if (!active()) [[unlikely]] {
      active_.store(true);
    }
    return failure.check();
  }

  /// The handle of the default stream; made at the first call. 0 if there are too many streams.
  uint64_t defaultStream();

  /// The handle of a new stream; 0 if there are too many. Not the stream: a reset may take it back before one looks.
  uint64_t createStream(int priority);

  /// Whether `handle` is the default stream's.
  bool isDefault(uint64_t handle) const { return default_.load(std::memory_order_acquire) == handle; }

  /// A destroyed stream has done all its work.
  void forget(Stream& stream);

  /// Blocks until all that has been submitted to its streams is done, or it is lost.
  void drain();

  /// Until `end`, a stream of another device may use this one's memory.
  void noteVisit(Stream& stream, Position end);

  /// Blocks until that is over. Not even the loss of the other device ends it sooner: what is running there goes on
  /// using the memory, which is to have a new owner.
  void awaitVisitors();

  /// Work has failed: queued work will be dropped, and whoever waits inside a stream goes on.
  void fail(orError_t error, const std::string& message);

  /// The device is gone, for every call from now on.
  void lose();

  /// Makes the calling worker (or a host thread that copies) take longer; ends early if the device fails.
  void delay(int64_t ns);

  void reset();

  // Peer access.
  bool canAccessAny() const { return peers_.load(std::memory_order_relaxed) != 0; }
  bool canAccess(const Device& peer) const { return (peers_.load(std::memory_order_acquire) >> peer.index & 1) != 0; }
  bool enablePeer(const Device& peer);
  bool disablePeer(const Device& peer);
  void dropPeer(const Device& peer) { peers_.fetch_and(~(1u << peer.index)); }

 private:
  void releaseWaiters();

  std::atomic<bool> active_{false};
  std::atomic<uint32_t> peers_{0};   ///< One bit for each device whose memory kernels of this one may be given.
  std::atomic<uint64_t> default_{0}; ///< A handle: after a reset it names nothing.

  std::mutex resetMutex_;                            ///< One reset at a time.
  std::mutex mutex_;                                 ///< Guards what follows.
  std::vector<Stream*> streams_;                     ///< Also destroyed ones that still have work.
  std::vector<std::pair<Stream*, Position>> visits_; ///< Of each stream the last.
};

} // namespace openreg::sim
