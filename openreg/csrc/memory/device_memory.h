// The memory of one device: its pools, and the locks around them.
#pragma once

#include "memory/history/history.h"
#include "memory/history/snapshot.h"
#include "memory/out_of_memory.h"
#include "memory/pending.h"
#include "memory/pool.h"

// LITERALINCLUDE START: PRIVATE POOLS
#include <atomic>
// LITERALINCLUDE END: PRIVATE POOLS
#include <map>
#include <mutex>

namespace openreg {

// LITERALINCLUDE START: DEVICE MEMORY
/**
 * @brief The memory of one device. Any thread.
 *
 * **Locks.** `mutex_` guards the data. Whoever holds it waits for nothing: not for the device, and not for Python's
 * GIL. For a thread that holds the GIL takes `mutex_` whenever a tensor dies, and the device may be about to run a
 * function of the host that needs the GIL. All waiting for the device is done under `release_`, which nobody takes in
 * order to free a tensor. The order is: the GIL, then `release_`, then `mutex_`. An exception is made when both are let
 * go: it may record where Python is, under the GIL.
 */
class DeviceMemory {
 public:
  explicit DeviceMemory(c10::DeviceIndex device);

  /**
   * @brief A block for a tensor of `size` bytes, more than 0, that is first used on `stream`. The device is current.
   *
   * Asks the driver only if the cache has nothing that fits. Does not block, but where memory is short: then it waits
   * for the device, gives the cached segments back, and tries again.
   * @throws c10::OutOfMemoryError if there is none.
   * @throws c10::AcceleratorError if the driver is asked and the device has failed.
   */
  Block* allocate(size_t size, orStream_t stream);

  /** @brief Takes a block back. Never waits for the device, never throws: tensors die anywhere. */
  void free(Block* block) noexcept;

  /**
   * @brief Notes that `stream`, one of `device`, works on a block: once free, it is not used again before that stream
   *        has done what was queued on it when the block was freed. Does not block.
   * @throws c10::AcceleratorError.
   */
  void recordStream(Block* block, orStream_t stream, c10::DeviceIndex device);

  /** @brief Gives the segments in which nothing is in use back to the driver. Waits for the device. */
  void emptyCache();

  /**
   * @brief Forgets everything, if no tensor has any of this memory: its device has been reset.
   * @return Whether nothing is left.
   */
  bool clear();

  /** @brief Limits what may be reserved to a share of the device's memory, from 0 to 1. Frees nothing. */
  void setFraction(double fraction);
  double fraction() const;

  DeviceStats stats() const;
  void resetAccumulatedStats();
  void resetPeakStats();

  // LITERALINCLUDE START: DEVICE MEMORY HISTORY
  /** @brief Adds the history and the segments of this memory. The history will say that it was asked. */
  void snapshot(MemorySnapshot& all);
  void clearHistory();
  // LITERALINCLUDE END: DEVICE MEMORY HISTORY

  // LITERALINCLUDE START: PRIVATE POOLS
  /** @brief One more graph has a share in a private pool. */
  void sharePool(c10::MempoolId_t id);
  /** @brief One less. After the last, the pool's free segments can go back to the driver. */
  void leavePool(c10::MempoolId_t id) noexcept;
  /** @brief From now on, streams in this capture get memory of that pool. */
  void beginCapture(uint64_t capture, c10::MempoolId_t id);
  /** @brief No longer. */
  void endCapture(uint64_t capture) noexcept;

  // LITERALINCLUDE END: PRIVATE POOLS
 private:
  Pool& pool(orStream_t stream, bool small);
  size_t limit() const { return static_cast<size_t>(fraction_ * static_cast<double>(total_)); }
  orError_t grow(Pool& pool, size_t segment, size_t size, Block*& block);
  orError_t makeRoom(orStream_t stream, size_t size, Block*& block, std::unique_lock<std::mutex>& lock);
  orError_t release(bool& released, std::unique_lock<std::mutex>& lock);
  void reuse(Block* block);
  void reusePassed(Pending& pending);
  void report(const void* data, int64_t change) const;
  Shortage shortage(size_t asked) const;
  // LITERALINCLUDE START: DEVICE MEMORY HISTORY
  void note(Block& block, TraceEntry::Action action);
  void noteSegment(TraceEntry::Action action, const void* data, size_t size, orStream_t stream);
  void noteShortage(const Shortage& shortage, orStream_t stream);
  // LITERALINCLUDE END: DEVICE MEMORY HISTORY

  // LITERALINCLUDE START: PRIVATE POOLS
  Pool* privatePool(orStream_t stream, bool small);
  void forgetEmptyPools();
  void takeSegmentsWithoutGraph(std::vector<Block*>& segments);
  size_t keptByGraphs() const;
  bool postpone(Block* block);
  std::vector<Block*> takePostponed();
  void endPostponed();

  /// Memory that captures into one pool use, and its blocks by stream and size as those of pools_.
  struct PrivatePool {
    int graphs = 0;
    std::map<std::pair<orStream_t, bool>, Pool> pools;
  };
  // LITERALINCLUDE END: PRIVATE POOLS

  const c10::DeviceIndex device_;
  const size_t total_;
  std::mutex release_;
  mutable std::mutex mutex_;
  DeviceStats stats_;
  std::map<std::pair<orStream_t, bool>, Pool> pools_; // by stream, and whether small
  Pending pending_;
  double fraction_ = 1;
  // LITERALINCLUDE START: PRIVATE POOLS
  std::map<c10::MempoolId_t, PrivatePool> privatePools_;
  std::map<uint64_t, c10::MempoolId_t> captures_; // under way
  std::vector<Block*> postponed_;                 // freed while events could not be recorded
  std::atomic<bool> anyPostponed_ = false;
  // LITERALINCLUDE END: PRIVATE POOLS
  // LITERALINCLUDE START: DEVICE MEMORY HISTORY
  History history_;
  // LITERALINCLUDE END: DEVICE MEMORY HISTORY
};
// LITERALINCLUDE END: DEVICE MEMORY

} // namespace openreg
