// Pinned memory that a graph copies from or to.
#include "graph/captured_pinned.h"

#include "device/device.h"
#include "pinned/pinned.h"

#include <algorithm>

namespace openreg {

CapturedPinned::~CapturedPinned() {
  if (!inBadFork()) {
    for (const auto* base : bases_) {
      letGoPinned(base, streams_);
    }
  }
}

void CapturedPinned::add(const void* base) {
  const std::lock_guard lock(mutex_);
  if (bases_.insert(base).second) {
    keepPinned(base);
  }
}

void CapturedPinned::usedOn(const c10::Stream& stream) {
  const std::lock_guard lock(mutex_);
  if (!bases_.empty() && std::ranges::find(streams_, stream) == streams_.end()) {
    streams_.push_back(stream);
  }
}

} // namespace openreg
