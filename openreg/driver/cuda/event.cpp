// Events.
#include "event.h"

#include "device.h"
#include "stream.h"

namespace openreg::cuda {

Version::Version(Device& of, bool isTimed) : device(of), timed(isTimed), event(of.takeEvent(isTimed)) {}

Version::~Version() {
  device.giveEvent(event, timed);
}

bool Point::poll() const {
  if (version_ == nullptr) {
    return true;
  }
  version_->device.enter();
  const CUresult result = library().cuEventQuery(version_->event);
  version_->device.note(result);
  return result != CUDA_ERROR_NOT_READY;
}

void Point::wait() const {
  if (version_ != nullptr) {
    version_->device.enter();
    version_->device.note(library().cuEventSynchronize(version_->event));
  }
}

Point Event::latest() const {
  const std::lock_guard lock(mutex_);
  return Point(version_);
}

Event::Stamp Event::stamp() const {
  const Point point = latest();
  const bool recorded = point.event() != nullptr;
  return {recorded, recorded && point.poll(), 0};
}

float Event::millisecondsSince(const Event& start) const {
  float milliseconds = 0;
  OPENREG_CUDA(cuEventElapsedTime, &milliseconds, start.latest().event(), latest().event());
  return milliseconds;
}

void Event::record(uint64_t expected, Stream& stream, uint64_t streamHandle) {
  auto version = std::make_shared<const Version>(stream.device(), timed());
  const std::lock_guard lock(mutex_);
  requireStill(*this, expected);
  stream.queueRecord(streamHandle, *version);
  version_.swap(version);
}

} // namespace openreg::cuda
