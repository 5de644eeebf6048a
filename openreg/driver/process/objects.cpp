// Events and points.
#include "objects.h"

#include "host.h"
#include "openreg_driver.h"
#include "wire/text.h"

namespace openreg::process {

bool Point::reached() const {
  return device == nullptr || device->reached(lane, value);
}

void Point::wait() const {
  if (!reached()) {
    device->wait(*this);
  }
}

Event::Version Event::version() {
  const std::lock_guard lock(mutex_);
  return latest_;
}

Event::Stamp Event::stamp() {
  const Version it = version();
  return {it.recorded, it.point.reached(), it.ns};
}

void Event::readTime(Stamp& stamp) {
  if (stamp.ns != 0) {
    return;
  }
  const uint64_t life = device().life();
  stamp.ns = device().request<TimeAnswer>(Kind::EventTime, {pieceOf(EventFrame{.event = index})}).ns;
  if (stamp.ns <= 0 || stamp.ns > nowNs()) {
    throw Refused{device().distrust(
        life, described(
                  "says that an event took place at %lld ns, which has not come yet or "
                  "never was",
                  static_cast<long long>(stamp.ns)))};
  }
}

void Event::record(uint64_t expected, Stream& stream, uint64_t streamHandle) {
  device().record(stream, streamHandle, *this, expected);
}

void Event::set(uint64_t expected, const Version& version) {
  const std::lock_guard lock(mutex_);
  requireStill(*this, expected);
  latest_ = version;
}

} // namespace openreg::process
