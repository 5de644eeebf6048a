// How long an executor may take to answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "common/system/platform.h"

namespace openreg::process {

// LITERALINCLUDE START: PROCESS DEADLINE
/// Counts only time in which the executor could have answered. Where the whole machine stands still, as under Ctrl-Z or
/// in a virtual machine that is paused, the clock goes on and nobody works. So whoever waits looks once in `sliceNs()`,
/// and what lies between two looks counts for no more than that.
class Deadline {
 public:
  explicit Deadline(int64_t ns) : left_(ns), slice_(std::max(ns / kSlices, int64_t{1})), looked_(nowNs()) {}

  int64_t sliceNs() const { return slice_; }

  /// A look: whether the time is up.
  bool passed() {
    const int64_t now = nowNs();
    left_ -= std::min(now - std::exchange(looked_, now), slice_);
    return left_ <= 0;
  }

 private:
  static constexpr int64_t kSlices = 8;

  int64_t left_;
  int64_t slice_;
  int64_t looked_;
};
// LITERALINCLUDE END: PROCESS DEADLINE

} // namespace openreg::process
