// How far a stream has come, and waiting until it has come so far.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "common/system/placement.h"

namespace openreg::sim {

/// A point in a stream's work: the number of bytes that had been submitted to its queue. Positions only grow, also when
/// the stream object is given to a new owner; therefore an old position stays a valid (and reached) one for ever.
using Position = uint64_t;

/// The work behind which everything is done. One thread at a time moves it forward; anybody may wait for it.
class Progress {
 public:
  Position now() const { return done_.load(std::memory_order_acquire); }
  bool reached(Position position) const { return now() >= position; }

  /// Everything before `position` is done.
  void advance(Position position) {
    done_.store(position); // Sequentially consistent, as all below: either we see the wish, or its owner sees this.
    if (position >= wanted_.load()) [[unlikely]] {
      wakeAll();
    }
  }

  /// Blocks until `position` is reached, or `released()` is true after an interrupt().
  template <class Released>
  void wait(Position position, Released released) {
    if (reached(position) || mover_.spinUntil([&] { return reached(position); })) {
      return;
    }
    for (;;) {
      const uint32_t seen = wakes_.load();
      want(position);
      if (done_.load() >= position || released()) {
        return;
      }
      futexWait(wakes_, seen);
    }
  }

  void wait(Position position) {
    wait(position, [] { return false; });
  }

  /// Makes those who wait look at their `released()`.
  void interrupt() { wakeAll(); }

  /// The thread that moves this forward says where it runs.
  void noteMover() { mover_.note(); }

 private:
  static constexpr Position kNobody = std::numeric_limits<Position>::max();

  void want(Position position) {
    Position lowest = wanted_.load();
    while (position < lowest && !wanted_.compare_exchange_weak(lowest, position)) {
    }
  }

  // Waiters are woken when the lowest position wanted is reached, not at every step: a host thread that waits for a
  // thousand kernels sleeps once. The others then say their wish again.
  void wakeAll() {
    wanted_.store(kNobody);
    wakes_.fetch_add(1);
    futexWakeAll(wakes_);
  }

  alignas(64) std::atomic<Position> done_{0};
  Whereabouts mover_;
  alignas(64) std::atomic<Position> wanted_{kNobody};
  std::atomic<uint32_t> wakes_{0};
};

} // namespace openreg::sim
