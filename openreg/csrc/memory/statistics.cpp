// Counting for torch.accelerator.memory_stats.
#include "memory/statistics.h"

#include "memory/pool.h"

#include <c10/core/AllocatorConfig.h>

namespace openreg {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;

void count(Stat& stat, size_t amount, Change change) {
  if (change == kMore) {
    stat.increase(amount);
  } else {
    stat.decrease(amount);
  }
}

// Each number is kept for small blocks, for large ones, and for both.
void count(StatArray& stats, const Block& block, size_t amount, Change change) {
  count(stats[static_cast<size_t>(StatType::AGGREGATE)], amount, change);
  count(stats[static_cast<size_t>(block.pool->small ? StatType::SMALL_POOL : StatType::LARGE_POOL)], amount, change);
}

bool oversize(const Block& block) {
  return !block.pool->small && block.size >= c10::CachingAllocator::AcceleratorAllocatorConfig::max_split_size();
}

template <class Function>
void forEach(DeviceStats& stats, Function function) {
  for (auto* array :
       {&stats.allocation, &stats.segment, &stats.active, &stats.inactive_split, &stats.allocated_bytes,
        &stats.reserved_bytes, &stats.active_bytes, &stats.inactive_split_bytes, &stats.requested_bytes}) {
    for (auto& stat : *array) {
      function(stat);
    }
  }
  function(stats.oversize_allocations);
  function(stats.oversize_segments);
}

} // namespace

void countSegment(DeviceStats& stats, const Block& block, Change change) {
  count(stats.segment, block, 1, change);
  count(stats.reserved_bytes, block, block.size, change);
  if (oversize(block)) {
    count(stats.oversize_segments, 1, change);
  }
  (change == kMore ? stats.num_device_alloc : stats.num_device_free) += 1;
}

void countAllocated(DeviceStats& stats, const Block& block, Change change) {
  count(stats.allocation, block, 1, change);
  count(stats.allocated_bytes, block, block.size, change);
  if (oversize(block)) {
    count(stats.oversize_allocations, 1, change);
  }
}

void countActive(DeviceStats& stats, const Block& block, Change change) {
  count(stats.active, block, 1, change);
  count(stats.active_bytes, block, block.size, change);
  count(stats.requested_bytes, block, block.requested, change);
}

void countInactive(DeviceStats& stats, const Block& block, Change change) {
  if (block.split()) {
    count(stats.inactive_split, block, 1, change);
    count(stats.inactive_split_bytes, block, block.size, change);
  }
}

void resetAccumulated(DeviceStats& stats) {
  forEach(stats, [](Stat& stat) { stat.reset_accumulated(); });
  stats.num_alloc_retries = stats.num_ooms = stats.num_sync_all_streams = 0;
  stats.num_device_alloc = stats.num_device_free = 0;
}

void resetPeaks(DeviceStats& stats) {
  forEach(stats, [](Stat& stat) { stat.reset_peak(); });
}

} // namespace openreg
