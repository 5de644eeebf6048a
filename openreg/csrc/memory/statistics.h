// Counting for torch.accelerator.memory_stats.
#pragma once

#include "memory/block.h"

#include <c10/core/CachingDeviceAllocator.h>

namespace openreg {

// LITERALINCLUDE START: STATISTICS
using c10::CachingDeviceAllocator::DeviceStats;

/// What is counted comes, or goes.
enum Change : int8_t { kMore = 1, kLess = -1 };

/** @brief The driver gives a segment, or gets it back. */
void countSegment(DeviceStats& stats, const Block& block, Change change);

/** @brief A tensor gets a block, or dies. */
void countAllocated(DeviceStats& stats, const Block& block, Change change);

/** @brief A block is in use, also by other streams after its tensor has died. */
void countActive(DeviceStats& stats, const Block& block, Change change);

/** @brief A block is free. Counts if the driver can't have it back, because others of its segment are in use. */
void countInactive(DeviceStats& stats, const Block& block, Change change);

/** @brief A number's present value, for small and large blocks together. */
inline size_t current(const c10::CachingAllocator::StatArray& stats) {
  return static_cast<size_t>(stats[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].current);
}

/** @brief Sets sums to zero. */
void resetAccumulated(DeviceStats& stats);

/** @brief Sets highest values to the present ones. */
void resetPeaks(DeviceStats& stats);
// LITERALINCLUDE END: STATISTICS

} // namespace openreg
