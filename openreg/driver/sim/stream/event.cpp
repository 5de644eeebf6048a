// Events.
#include "event.h"

#include "common/lookup.h"
#include "common/pause.h"
#include "sim/device.h"
#include "sim/simulator.h"
#include "stream.h"

namespace openreg::sim {

namespace {

/// Sets an event's time when its turn has come, on a failed device too.
class StampCommand final : public Command {
 public:
  StampCommand(Event& event, uint64_t number) : event_(event), number_(number) {}
  void run(Stream&) override { event_.setTime(number_); }
  bool runsAfterFailure() const override { return true; }

 private:
  Event& event_;
  uint64_t number_;
};

} // namespace

void Event::forget() {
  latest_ = {};
  latestNumber_ = stampedNumber_ = numbersGiven_;
}

Point Event::latest() {
  const std::lock_guard lock(mutex_);
  return latest_;
}

Event::Stamp Event::stamp() {
  const std::lock_guard lock(mutex_);
  return {latest_.stream != nullptr, latest_.reached() && stampedNumber_ >= latestNumber_, stampNs_};
}

void Event::record(uint64_t expected, Stream& stream, uint64_t streamHandle) {
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++numbersGiven_;
  }
  Position position = stream.submitted();
  if (timed()) {
    if (stream.reached(position)) {
      setTime(number); // Everything before is done: the version is complete here and now.
    } else {
      position = stream.submit<StampCommand>(streamHandle, *this, number);
    }
  }
  {
    const std::lock_guard lock(mutex_);
    requireStill(*this, expected);
    if (number > latestNumber_) { // Of two threads that record at once, the later number is the latest version.
      latestNumber_ = number;
      latest_ = {&stream, position};
    }
  }
  pausePoint("recorded");
}

void Event::setTime(uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (number > stampedNumber_) {
    stampedNumber_ = number;
    stampNs_ = nowNs();
  }
}

} // namespace openreg::sim
