// A bell rung when something rare happens (a device fails, a stream ends): all who wait look at their condition anew.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "common/system/platform.h"

namespace openreg::sim {

/// One for the whole simulator: rare events may wake a few threads too many, and nobody has to be registered anywhere.
class Bell {
 public:
  /// After the condition that somebody may wait for has been made true.
  void ring() {
    rings_.fetch_add(1);
    futexWakeAll(rings_);
  }

  /// Waits until `condition()` is true or it is `deadlineNs` (of nowNs). Returns what the condition said last.
  template <class Condition>
  bool waitUntil(int64_t deadlineNs, Condition condition) {
    for (;;) {
      const uint32_t seen = rings_.load(); // Before the condition: a ring in between ends the sleep at once.
      if (condition()) {
        return true;
      }
      const int64_t left = deadlineNs - nowNs();
      if (left <= 0) {
        return false;
      }
      futexWait(rings_, seen, left);
    }
  }

 private:
  std::atomic<uint32_t> rings_{0};
};

} // namespace openreg::sim
