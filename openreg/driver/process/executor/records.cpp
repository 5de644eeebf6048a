// When work was done: what an executor tells its host of that.
#include <utility>

#include "service.h"

namespace openreg::process {

// LITERALINCLUDE START: EXECUTOR RECORD
void Service::recordWork(const orActivityRecord& record) {
  constexpr int64_t kSliceNs = 5'000'000;
  constexpr uint64_t kHalf = Records::kEntries / 2;
  Records& ring = channel_.records;
  const std::lock_guard lock(recording_);
  const auto waiting = [&] { return recorded_ - ring.taken.value.load(std::memory_order_acquire); };
  while (waiting() >= Records::kEntries) { // Rung for at each turn: a bell may have got lost in a full socket.
    ringBell(socket_);
    ring.taken.wait(
        recorded_ - kHalf, kSliceNs, ring.sleepers, [slept = false]() mutable { return std::exchange(slept, true); });
  }
  ring.entries[recorded_ % Records::kEntries] = {record.correlation, record.startNs, record.endNs};
  ring.recorded.advance(++recorded_, [] { return false; });
  if (recorded_ % kHalf == 0 && waiting() >= kHalf) {
    ringBell(socket_); // The host takes what it finds when it waits for the device. It may not do that for long.
  }
}
// LITERALINCLUDE END: EXECUTOR RECORD

} // namespace openreg::process
