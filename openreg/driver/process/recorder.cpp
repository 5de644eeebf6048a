// Records of an executor's work.
#include "recorder.h"

#include "common/system/platform.h"
#include "host.h"
#include "wire/shared_memory.h"
#include "wire/text.h"

namespace openreg::process {

void Recorder::expect(const orActivityRecord& work) {
  const std::lock_guard lock(expecting_);
  expected_.emplace(work.correlation, work)->second.startNs = nowNs(); // No earlier can it begin.
}

// LITERALINCLUDE START: RECORDER
std::string Recorder::collect() {
  const std::lock_guard lock(collecting_);
  const uint64_t recorded = ring_.recorded.value.load(std::memory_order_acquire);
  if (recorded - taken_ > Records::kEntries) {
    return described("says that it has recorded %llu pieces of work", static_cast<unsigned long long>(recorded));
  }
  std::string lie;
  while (taken_ != recorded && lie.empty()) {
    lie = take(snapshot(ring_.entries[taken_++ % Records::kEntries]));
  }
  ring_.taken.advance(taken_, [this] { return ring_.sleepers.load() != 0; });
  return lie;
}

std::string Recorder::take(const WorkTimes& times) {
  orActivityRecord record;
  {
    const std::lock_guard lock(expecting_);
    const auto work = expected_.lower_bound(times.correlation);
    if (work == expected_.end() || work->first != times.correlation) {
      return described(
          "has recorded the work of call %llu, which has submitted none, or one piece that is done",
          static_cast<unsigned long long>(times.correlation));
    }
    record = work->second;
    expected_.erase(work);
  }
  if (times.startNs < record.startNs || times.endNs < times.startNs || times.endNs > nowNs()) {
    return described(
        "says that '%s' ran from %lld to %lld ns, which was before it was submitted or has not come yet", record.name,
        static_cast<long long>(times.startNs), static_cast<long long>(times.endNs));
  }
  record.startNs = times.startNs;
  record.endNs = times.endNs;
  host().activity.deliver(record);
  return "";
}
// LITERALINCLUDE END: RECORDER

} // namespace openreg::process
