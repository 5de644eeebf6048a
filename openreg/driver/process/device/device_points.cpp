// Points in the work of a device: fences, and waiting for them.
#include <algorithm>

#include "device.h"
#include "process/host.h"

namespace openreg::process {

Point Device::fencedEndOf(Lane& lane) {
  return {this, lane.number, lane.unfenced ? putFence(lane) : lane.fenced};
}

Point Device::endOf(Stream& stream, uint64_t expected) {
  const std::lock_guard lock(mutex_);
  return fencedEndOf(laneOf(stream, expected));
}

void Device::record(Stream& stream, uint64_t expected, Event& event, uint64_t eventHandle) {
  std::unique_lock lock(mutex_);
  Lane& lane = laneOf(stream, expected);
  Event::Version version{.recorded = true, .point = {this, lane.number, lane.fenced}, .ns = 0};
  const bool idle = !lane.unfenced && (lane.fenced == 0 || version.point.reached());
  if (idle) {
    version.ns = nowNs(); // Everything before is done: the version is complete here and now.
  } else if (event.timed()) {
    version.point.value = putFence(admit(lock, stream, expected), event.index, event.nextVersion());
  } else {
    version.point = fencedEndOf(lane);
  }
  event.set(eventHandle, version);
}

void Device::waitForHost(Stream& stream, uint64_t expected, Point& before, uint64_t& value) {
  std::unique_lock lock(mutex_);
  Lane& lane = admit(lock, stream, expected);
  before = fencedEndOf(lane);
  value = ++lane.hostFenced;
  const WaitFrame frame{
      .stream = lane.number, .ofDevice = index, .ofStream = lane.number, .kind = FenceKind::Host, .value = value};
  put(lane, Kind::Wait, {pieceOf(frame)});
}

void Device::hurry(uint32_t lane) {
  if (const auto executor = running()) {
    executor->post(Kind::Nudge, {pieceOf(StreamFrame{.stream = lane})}, Urgency::Now);
  }
}

// LITERALINCLUDE START: PROCESS WAIT
void Device::wait(const Point& point) {
  if (reached(point.lane, point.value)) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (Lane& lane = *lanes_[point.lane]; lane.fenced < point.value) {
      (void)fencedEndOf(lane);
    }
  }
  hurry(point.lane);
  Board& all = host_.shared().board();
  const std::atomic<uint32_t>& gone = all.host.lost[index];
  const int64_t deadlineNs = host_.settings.deadlineNs;
  int64_t asked = nowNs();
  const bool there = fence(point.lane).wait(point.value, deadlineNs, all.host.sleepers[index], [&] {
    if (gone.load() == 0 && nowNs() - asked >= deadlineNs) {
      if (const auto executor = running()) {
        executor->ping(); // Work may take as long as it likes; but is there still somebody who does it?
        hurry(point.lane);
      }
      asked = nowNs();
    }
    return gone.load() != 0;
  });
  if (there && !reached(point.lane, point.value)) {
    readBoard(); // The fence is where it cannot be. This ends the executor, and returns when that is known.
  }
}
// LITERALINCLUDE END: PROCESS WAIT

void Device::drain() {
  std::vector<Point> points;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& lane : lanes_) {
      if (const Point end = fencedEndOf(*lane); end.value != 0 && !end.reached()) {
        points.push_back(end);
      }
    }
  }
  for (const Point& point : points) {
    wait(point);
  }
  std::unique_lock lock(mutex_);
  letGo_.wait(lock, [&, last = holds_] {
    return std::ranges::none_of(lanes_, [&](const auto& lane) {
      return std::ranges::any_of(lane->held, [&](const HeldStream* held) { return held->number <= last; });
    });
  });
}

} // namespace openreg::process
