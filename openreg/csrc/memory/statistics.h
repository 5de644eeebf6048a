// Counting for torch.accelerator.memory_stats.
#pragma once

#include "memory/block.h"

#include <c10/core/CachingDeviceAllocator.h>

namespace openreg {

// LITERALINCLUDE START: STATISTICS
using DeviceStats = c10::CachingDeviceAllocator::DeviceStats;

/// What is counted comes and goes.
enum Change : int64_t { kMore = 1, kLess = -1 };

/** @brief A tensor gets a block, or dies. */
void countAllocated(DeviceStats& stats, const Block& block, Change change);

/** @brief A block is in use, by a tensor or by streams that have not done with it; or it has become free. */
void countActive(DeviceStats& stats, const Block& block, Change change);

/** @brief A block is in a pool, but the driver can't have it back because the rest of its segment is in use. */
void countInactiveSplit(DeviceStats& stats, const Block& block, Change change);

/** @brief The driver gives a segment, or gets it back. */
void countSegment(DeviceStats& stats, const Block& block, Change change);

/** @brief What a number is now, for small and large blocks together. */
inline size_t current(const c10::CachingAllocator::StatArray& stats) {
  return static_cast<size_t>(stats[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].current);
}

/** @brief Sets what has been summed up since the start to zero. */
void resetAccumulated(DeviceStats& stats);

/** @brief Sets the highest values to the present ones. */
void resetPeaks(DeviceStats& stats);
// LITERALINCLUDE END: STATISTICS

} // namespace openreg
