// Starting the count anew.
#include "memory/statistics.h"

namespace openreg {
namespace {

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

void resetAccumulated(DeviceStats& stats) {
  forEach(stats, [](auto& stat) { stat.reset_accumulated(); });
  stats.num_alloc_retries = stats.num_ooms = stats.num_sync_all_streams = 0;
  stats.num_device_alloc = stats.num_device_free = 0;
}

void resetPeaks(DeviceStats& stats) {
  forEach(stats, [](auto& stat) { stat.reset_peak(); });
}

} // namespace openreg
