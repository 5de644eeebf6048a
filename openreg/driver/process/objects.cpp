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

orError_t Event::readTime(Stamp& stamp) {
  if (stamp.ns != 0) {
    return orSuccess;
  }
  const uint64_t life = device().life();
  TimeAnswer answer;
  const orError_t error =
      device().request(Kind::EventTime, {pieceOf(EventFrame{.event = index})}, &answer, sizeof(answer));
  stamp.ns = answer.ns;
  if (error == orSuccess && (stamp.ns <= 0 || stamp.ns > nowNs())) {
    return device().distrust(
        life, described(
                  "says that an event took place at %lld ns, which has not come yet or "
                  "never was",
                  static_cast<long long>(stamp.ns)));
  }
  return error;
}

orError_t Event::record(uint64_t expected, Stream& stream, uint64_t streamHandle) {
  return device().record(stream, streamHandle, *this, expected);
}

bool Event::set(uint64_t expected, const Version& version) {
  const std::lock_guard lock(mutex_);
  if (handle.load() != expected) {
    return false;
  }
  latest_ = version;
  return true;
}

} // namespace openreg::process
