// What the memory of a device says of itself: its limit, its statistics, and why there is none left.
#include "memory/device_memory.h"

#include "device/device.h"

#include <c10/core/Allocator.h>

#include <algorithm>
#include <mutex>

namespace openreg {

void DeviceMemory::setFraction(double fraction) {
  const std::lock_guard lock(mutex_);
  fraction_ = fraction;
}

double DeviceMemory::fraction() const {
  const std::lock_guard lock(mutex_);
  return fraction_;
}

DeviceStats DeviceMemory::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void DeviceMemory::resetAccumulatedStats() {
  const std::lock_guard lock(mutex_);
  resetAccumulated(stats_);
}

void DeviceMemory::resetPeakStats() {
  const std::lock_guard lock(mutex_);
  resetPeaks(stats_);
}

Shortage DeviceMemory::shortage(size_t asked) const {
  const auto used = current(stats_.active_bytes);
  size_t largest = 0;
  for (const auto& [key, pool] : pools_) {
    largest = std::max(largest, pool.largest());
  }
  Shortage why{device_, asked, used, current(stats_.reserved_bytes) - used, largest, limit()};
  // LITERALINCLUDE START: KEPT FIGURE
  why.keptByGraphs = keptByGraphs();
  // LITERALINCLUDE END: KEPT FIGURE
  return why;
}

// Hold no lock: the profiler is other people's code.
void DeviceMemory::report(const void* data, int64_t change) const {
  if (c10::memoryProfilingEnabled()) {
    const auto now = stats();
    c10::reportMemoryUsageToProfiler(
        const_cast<void*>(data), change, current(now.allocated_bytes), current(now.reserved_bytes),
        {kDeviceType, device_});
  }
}

} // namespace openreg
