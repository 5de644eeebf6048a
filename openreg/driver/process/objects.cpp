// Events and points.
#include "objects.h"

#include "device.h"
#include "host.h"

namespace openreg::process {

bool Point::reached() const {
  return device == nullptr || device->reached(lane, value);
}

uint64_t Event::open(Device& device, bool timed) {
  const std::lock_guard lock(mutex_);
  device_.store(&device, std::memory_order_release);
  timed_.store(timed, std::memory_order_relaxed);
  latest_ = {};
  return host().events.publish(*this);
}

bool Event::close(uint64_t expected) {
  {
    const std::lock_guard lock(mutex_);
    if (expected == 0 || handle.load() != expected) {
      return false;
    }
    handle.store(0);
  }
  host().events.release(*this);
  return true;
}

Event::Version Event::latest() {
  const std::lock_guard lock(mutex_);
  return latest_;
}

bool Event::record(uint64_t expected, const Version& version) {
  const std::lock_guard lock(mutex_);
  if (handle.load() != expected) {
    return false;
  }
  latest_ = version;
  return true;
}

} // namespace openreg::process
