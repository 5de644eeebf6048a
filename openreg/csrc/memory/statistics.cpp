// Counting for torch.accelerator.memory_stats.
#include "memory/statistics.h"

#include <c10/core/AllocatorConfig.h>

namespace openreg {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;

void add(Stat& stat, int64_t amount) {
  if (amount > 0) {
    stat.increase(static_cast<size_t>(amount));
  } else {
    stat.decrease(static_cast<size_t>(-amount));
  }
}

// Each number is kept for small blocks, for large ones, and for both.
void add(StatArray& stats, const Block& block, int64_t amount) {
  add(stats[static_cast<size_t>(StatType::AGGREGATE)], amount);
  add(stats[static_cast<size_t>(block.small ? StatType::SMALL_POOL : StatType::LARGE_POOL)], amount);
}

int64_t bytes(size_t size, Change change) {
  return static_cast<int64_t>(size) * change;
}

bool oversize(const Block& block) {
  return block.size >= c10::CachingAllocator::AcceleratorAllocatorConfig::max_split_size();
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

void countAllocated(DeviceStats& stats, const Block& block, Change change) {
  add(stats.allocation, block, change);
  add(stats.allocated_bytes, block, bytes(block.size, change));
  if (oversize(block)) {
    add(stats.oversize_allocations, change);
  }
}

void countActive(DeviceStats& stats, const Block& block, Change change) {
  add(stats.active, block, change);
  add(stats.active_bytes, block, bytes(block.size, change));
  add(stats.requested_bytes, block, bytes(block.requested, change));
}

void countInactiveSplit(DeviceStats& stats, const Block& block, Change change) {
  add(stats.inactive_split, block, change);
  add(stats.inactive_split_bytes, block, bytes(block.size, change));
}

void countSegment(DeviceStats& stats, const Block& block, Change change) {
  add(stats.segment, block, change);
  add(stats.reserved_bytes, block, bytes(block.size, change));
  if (oversize(block)) {
    add(stats.oversize_segments, change);
  }
  (change == kMore ? stats.num_device_alloc : stats.num_device_free) += 1;
}

void resetAccumulated(DeviceStats& stats) {
  forEach(stats, [](Stat& stat) { stat.reset_accumulated(); });
  for (auto* count :
       {&stats.num_alloc_retries, &stats.num_ooms, &stats.num_sync_all_streams, &stats.num_device_alloc,
        &stats.num_device_free}) {
    *count = 0;
  }
}

void resetPeaks(DeviceStats& stats) {
  forEach(stats, [](Stat& stat) { stat.reset_peak(); });
}

} // namespace openreg
