// The error of a device that has no memory left.
#include "memory/out_of_memory.h"

#include "device/device.h"
#include "device/device_name.h"

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

namespace openreg {

// LITERALINCLUDE START: OUT OF MEMORY
void throwOutOfMemory(const Shortage& shortage) {
  using c10::CachingAllocator::format_size;
  const auto device = shortage.device;
  const auto asked = shortage.asked, used = shortage.used, cached = shortage.cached, limit = shortage.limit;
  size_t free = 0;
  size_t total = 0;
  (void)orMemGetInfo(&free, &total, device); // zeros, if the device fails in this moment
  std::string hint = "Free tensors that are not needed, or make batches smaller.";
  if (asked <= cached) {
    hint =
        "The cached memory is in pieces. Allocate large tensors first, or set PYTORCH_ALLOC_CONF=max_split_size_mb:N.";
  } else if (asked <= free && limit < total) {
    hint = c10::str("Raise the limit with torch.", kDeviceName, ".set_per_process_memory_fraction.");
  }
  // LITERALINCLUDE START: KEPT BY GRAPHS HINT
  if (asked <= shortage.keptByGraphs) {
    hint = "The cached memory is kept by graphs, for their replays. Call reset() on those that are done with, or let "
           "graphs share a pool.";
  }
  // LITERALINCLUDE END: KEPT BY GRAPHS HINT
  const c10::Device where(kDeviceType, device);
  c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(asked), used, used + cached, where);
  TORCH_CHECK_WITH(
      OutOfMemoryError, false, kDeviceName, " out of memory. Tried to allocate ", format_size(asked), " on ", where,
      ". Of ", format_size(total), " of device memory ", format_size(free), " are free. This process uses ",
      format_size(used), " and has ", format_size(cached),
      " cached that it could not give back, the largest block of them ", format_size(shortage.largest),
      "; its limit is ", format_size(limit), ". ", hint);
}
// LITERALINCLUDE END: OUT OF MEMORY

} // namespace openreg
