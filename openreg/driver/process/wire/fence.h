// A number in shared memory that only grows, and waiting until it has grown so far.
#pragma once

#include <atomic>
#include <cstdint>

#include "sim/platform.h"

namespace openreg::process {

// LITERALINCLUDE START: FENCE
/// What a GPU's driver calls a timeline: the one primitive with which processes wait for each other here. Zeroed memory
/// is a good one. Advancing it costs a system call only if somebody sleeps.
struct alignas(32) Fence {
  std::atomic<uint64_t> value{0};
  std::atomic<uint32_t> wakes{0};
  std::atomic<uint32_t> sleepers{0}; ///< One who is killed asleep stays counted, which costs wake-ups, nothing else.
  std::atomic<int32_t> cpu{0};       ///< Where it was last advanced: spinning on that core would keep it from growing.
  uint32_t reserved = 0;

  bool reached(uint64_t wanted) const { return value.load(std::memory_order_acquire) >= wanted; }

  /// Makes the value at least `to`, and wakes those who wait.
  void advance(uint64_t to);

  /// Makes those who wait look at their `released()`.
  void interrupt();

  /// Blocks until `wanted` is reached, or `released()`, which is looked at whenever the fence moves and at least once
  /// in `sliceNs`. True if it was reached.
  template <class Released>
  bool wait(uint64_t wanted, int64_t sliceNs, Released released) {
    const auto isReached = [&] { return reached(wanted); };
    if (isReached() || sim::spinUntil(cpu, isReached)) {
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
      sim::futexWait(wakes, seen, sliceNs, sim::Sharing::Shared);
    }
    sleepers.fetch_sub(1);
    return done;
  }
};
// LITERALINCLUDE END: FENCE
static_assert(sizeof(Fence) == 32);

} // namespace openreg::process
