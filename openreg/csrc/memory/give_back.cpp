// The memory of one device: giving it back to the driver, limits, and figures.
#include "memory/device_memory.h"

#include "device/error.h"

#include <c10/core/AllocatorConfig.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace openreg {

// LITERALINCLUDE START: GIVE BACK
void DeviceMemory::emptyCache() {
  const std::lock_guard releasing(release_);
  std::unique_lock lock(mutex_);
  auto waiting = std::exchange(pending_, {});
  stats_.num_sync_all_streams += 1;
  lock.unlock();
  waiting.wait();
  lock.lock();
  reusePassed(waiting, lock);
  giveBack(std::numeric_limits<size_t>::max(), lock);
}

void DeviceMemory::giveBack(size_t bytes, std::unique_lock<std::mutex>& lock) {
  auto segments = large_.takeSegments(bytes);
  std::ranges::copy(small_.takeSegments(bytes), std::back_inserter(segments));
  for (const auto* segment : segments) {
    countSegment(stats_, *segment, kLess);
  }
  // From here on nobody knows the segments. A thread that finds no memory now waits for release_ before it gives up.
  lock.unlock();
  auto error = orSuccess;
  for (const auto* segment : segments) {
    const auto failed = orFree(segment->data); // waits for the device
    error = failed != orSuccess ? failed : error;
    delete segment;
  }
  check(error);
  lock.lock();
}

void DeviceMemory::collectGarbage(size_t wanted, std::unique_lock<std::mutex>& lock) {
  const auto share = c10::CachingAllocator::AcceleratorAllocatorConfig::garbage_collection_threshold();
  const auto most = static_cast<size_t>(share * static_cast<double>(limit()));
  const auto reserved = current(stats_.reserved_bytes);
  if (share <= 0 || reserved <= most) {
    return;
  }
  lock.unlock();
  {
    const std::lock_guard releasing(release_);
    lock.lock();
    giveBack(reserved - most, lock);
  }
}
// LITERALINCLUDE END: GIVE BACK

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
  auto stats = stats_;
  stats.max_split_size = static_cast<int64_t>(c10::CachingAllocator::AcceleratorAllocatorConfig::max_split_size());
  return stats;
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
  const auto inUse = current(stats_.active_bytes);
  return {device_, asked, inUse, current(stats_.reserved_bytes) - inUse, std::max(small_.largest(), large_.largest()),
          limit()};
}

} // namespace openreg
