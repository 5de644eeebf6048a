// Counting for torch.accelerator.memory_stats.
#pragma once

#include "memory/block.h"

#include <c10/core/AllocatorConfig.h>
#include <c10/core/CachingDeviceAllocator.h>

namespace openreg {

/// All numbers of one device.
using DeviceStats = c10::CachingDeviceAllocator::DeviceStats; // NOLINT(readability-redundant-qualified-alias)

/// What is counted comes, or goes.
enum Change : int8_t { kMore = 1, kLess = -1 };

inline void count(c10::CachingAllocator::Stat& stat, size_t amount, Change change) {
  if (change == kMore) {
    stat.increase(amount);
  } else {
    stat.decrease(amount);
  }
}

// LITERALINCLUDE START: STATISTICS
/// Each number is kept for small blocks, for large ones, and for both.
inline void count(c10::CachingAllocator::StatArray& stats, const Block& block, size_t amount, Change change) {
  using c10::CachingAllocator::StatType;
  count(stats[static_cast<size_t>(StatType::AGGREGATE)], amount, change);
  count(stats[static_cast<size_t>(block.small ? StatType::SMALL_POOL : StatType::LARGE_POOL)], amount, change);
}

/// A block that is never cut for a smaller tensor; see max_split_size_mb.
inline bool oversize(const Block& block) {
  return !block.small && block.size >= c10::CachingAllocator::AcceleratorAllocatorConfig::max_split_size();
}

/** @brief A tensor gets a block, or dies. */
inline void countAllocated(DeviceStats& stats, const Block& block, Change change) {
  count(stats.allocation, block, 1, change);
  count(stats.allocated_bytes, block, block.size, change);
  if (oversize(block)) {
    count(stats.oversize_allocations, 1, change);
  }
}

/** @brief A block is in use, also by other streams after its tensor has died. */
inline void countActive(DeviceStats& stats, const Block& block, Change change) {
  count(stats.active, block, 1, change);
  count(stats.active_bytes, block, block.size, change);
  count(stats.requested_bytes, block, block.requested, change);
}

/** @brief A block is free. Counts if the driver can't have it back, because others of its segment are in use. */
inline void countInactive(DeviceStats& stats, const Block& block, Change change) {
  if (block.split()) {
    count(stats.inactive_split, block, 1, change);
    count(stats.inactive_split_bytes, block, block.size, change);
  }
}

/** @brief The driver gives a segment, or gets it back. */
inline void countSegment(DeviceStats& stats, const Block& block, Change change) {
  count(stats.segment, block, 1, change);
  count(stats.reserved_bytes, block, block.size, change);
  if (oversize(block)) {
    count(stats.oversize_segments, 1, change);
  }
  (change == kMore ? stats.num_device_alloc : stats.num_device_free) += 1;
}
// LITERALINCLUDE END: STATISTICS

/** @brief A number's present value, for small and large blocks together. */
inline size_t current(const c10::CachingAllocator::StatArray& stats) {
  return static_cast<size_t>(stats[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].current);
}

/** @brief Sets sums to zero. */
void resetAccumulated(DeviceStats& stats);

/** @brief Sets highest values to the present ones. */
void resetPeaks(DeviceStats& stats);

} // namespace openreg
