// A number in shared memory that only grows, and waiting until it has grown so far.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/system/placement.h"

namespace openreg::process {

// LITERALINCLUDE START: FENCE
/// What a GPU's driver calls a timeline: the one primitive with which processes wait for each other here. Zeroed memory
/// is a good one. Advancing it costs a system call only if somebody sleeps. Only its owner writes to it: who waits
/// counts itself in a word of its own, so that one side cannot spoil what another says.
struct alignas(16) Fence {
  std::atomic<uint64_t> value{0};
  std::atomic<uint32_t> wakes{0};
  std::atomic<int32_t> cpu{0}; ///< Where it was last advanced: spinning on that core would keep it from growing.

  bool reached(uint64_t wanted) const { return value.load(std::memory_order_acquire) >= wanted; }

  /// Makes the value at least `to`, and wakes those who wait if `somebodySleeps()`, which is asked after that.
  template <class SomebodySleeps>
  void advance(uint64_t to, SomebodySleeps somebodySleeps) {
    raise(to);
    if (somebodySleeps()) {
      interrupt();
    }
  }

  /// Makes those who wait look at their `released()`.
  void interrupt();

  /// Blocks until `wanted` is reached, or `released()`, which is looked at whenever the fence moves and at least once
  /// in `sliceNs`. True if it was reached.
  /// @param sleepers Counts those of one side who sleep. One who is killed asleep stays counted, which costs wake-ups,
  ///                 nothing else.
  template <class Released>
  bool wait(uint64_t wanted, int64_t sliceNs, std::atomic<uint32_t>& sleepers, Released released) const {
    const auto isReached = [&] { return reached(wanted); };
    if (isReached() || spinUntil(cpu, isReached)) {
      return true;
    }
    sleepers.fetch_add(1); // Before looking again: whoever advances sees either us here, or we what it has written.
    bool done = false;
    for (;;) {
      const uint32_t seen = wakes.load();
      done = value.load() >= wanted;
      if (done || released()) {
        break;
      }
      futexWait(wakes, seen, sliceNs, Sharing::Shared);
    }
    sleepers.fetch_sub(1);
    return done;
  }

 private:
  void raise(uint64_t to);
};
// LITERALINCLUDE END: FENCE
static_assert(sizeof(Fence) == 16);

} // namespace openreg::process
