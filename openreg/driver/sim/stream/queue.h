// A stream's queue: a ring of bytes with many producers and one consumer that sleeps without making producers pay.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "command.h"
#include "common/system/placement.h"
#include "progress.h"

namespace openreg::sim {

/// Records lie in the ring one behind the other. `head` counts bytes submitted, `progress` bytes done.
///
/// Waking a sleeping thread costs microseconds, more than most kernels. So the worker, when it has nothing to do, first
/// spins shortly, then *naps* (sleeps with a time limit) for a few milliseconds: submitting work wakes nobody then, the
/// nap ends by itself or by a host thread that starts to wait. Only after that it sleeps for good, and submitting wakes
/// it. A producer writes `head` and then looks at `rest`; the worker writes `rest` and then looks at `head`: one of the
/// two sees the other.
class Queue {
 public:
  /// Precedes each record. Records are multiples of its alignment, so that a header never wraps around.
  struct alignas(64) Slot {
    unsigned char bytes[64];
  };

  /// What a record is.
  enum class Kind : uint32_t {
    Command, ///< A Command follows.
    Gap,     ///< Fills the ring's end; the next record is at its start.
    Turn     ///< A host thread's own place in the order: the worker stands until that thread has moved `progress` on.
  };

  struct alignas(16) Header {
    uint32_t bytes; ///< Of the whole record.
    Kind kind;
    Command* command;
  };

  static constexpr uint64_t kBytes = 256 * 1024; ///< More is slower: the ring should stay in the cache.

  /// Held by a producer from making room to publishing.
  std::mutex& mutex() { return mutex_; }

  /// What must be done before a record with `payload` bytes fits; 0 if it fits now.
  Position roomBehind(size_t payload);

  /// Writes the header of the next record and returns where its payload goes. Room has been made.
  void* place(size_t payload, Kind kind);

  /// Says that the payload is complete and a command.
  void setCommand(Command* command) { placed_->command = command; }

  /// Publishes the record and gives up the lock; wakes the worker if it must be and the record is for it. Returns the
  /// position behind the record.
  Position publish(std::unique_lock<std::mutex>& lock);

  /// All that has been submitted so far.
  Position submitted() const { return head_.load(); }

  const Progress& progress() const { return progress_; }
  Progress& progress() { return progress_; }

  /// For one who is going to wait: wakes a worker that naps beside waiting work.
  void nudge();

  /// The holder of a turn lets the stream go on. `begin` is where its record starts.
  void endTurn(Position begin);

  /// The turn at `begin`, which has not come yet, is nobody's any more: the worker passes it. Under the lock.
  void dropTurn(Position begin) { headerAt(begin)->kind = Kind::Gap; }

  // ------------------------------------------------------------------------------------------------- for the worker

  /// The record at `at`, where `progress` stood; null if there is nothing for the worker to do.
  Header* front(Position at);

  /// Nothing to do at `at`: spins, naps or sleeps, and returns when that may have changed.
  void rest(Position at);

  /// Something was done: naps start anew.
  void worked() { naps_ = 0; }

  /// Nothing will be submitted any more; the worker is to leave when all is done.
  void close();
  void reopen() { closed_.store(false); }
  bool finished(Position at) const { return closed_.load() && submitted() == at; }

 private:
  /// What the worker is doing.
  enum class Rest : uint32_t { Awake, Napping, Asleep };

  static constexpr int kNaps = 24; ///< The kernel's timer adds some 50 µs to each: under two milliseconds in all.
  static constexpr int64_t kNapNs = 20'000;
  static constexpr uint64_t kBacklog = 64 * 128; ///< Bytes of work that have piled up: worth ending a nap for.

  void rouse();
  Header* headerAt(Position at);

  alignas(64) std::atomic<Position> head_{0};
  std::atomic<Rest> rest_{Rest::Awake};
  std::atomic<Position> lastTurn_{0}; ///< Behind the last record of the kind Turn.
  Whereabouts producer_;
  Progress progress_;
  alignas(64) std::mutex mutex_;
  Position progressSeen_ = 0; ///< A producer's copy, so that most submissions leave the worker's cache line alone.
  Header* placed_ = nullptr;
  uint64_t placedBytes_ = 0;
  std::unique_ptr<Slot[]> ring_; ///< Made at first use.
  alignas(64) std::atomic<uint32_t> wake_{0};
  std::atomic<bool> closed_{false};
  int naps_ = 0;
  Position restedAt_ = 0; ///< Where the last rest began.
};

} // namespace openreg::sim
