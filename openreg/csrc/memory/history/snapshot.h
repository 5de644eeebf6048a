// The memory of all devices as it is now, and how it came to be so.
#pragma once

#include "memory/history/history.h"

#include <vector>

namespace openreg {

/// What PyTorch's memory visualiser shows, before it is made into Python's objects.
struct MemorySnapshot {
  std::vector<c10::CachingDeviceAllocator::SegmentInfo> segments;
  std::vector<std::vector<TraceEntry>> histories; // by device
};

/** @brief What the allocator has now, of each device under one hold of its lock. Waits for no device. Any thread. */
C10_EXPORT MemorySnapshot memorySnapshot();

/**
 * @brief Begins or ends the recording of the allocator's actions on all devices. Ending it forgets them.
 * @param forget Whether to forget what was recorded before, too, when it begins.
 */
C10_EXPORT void recordMemoryHistory(const HistorySettings& settings, bool forget);

} // namespace openreg
