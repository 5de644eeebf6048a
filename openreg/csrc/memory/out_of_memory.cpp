// The error of a device that has no memory left.
#include "memory/out_of_memory.h"

#include "device/device.h"

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

#include <string>

namespace openreg {

// LITERALINCLUDE START: OUT OF MEMORY
void throwOutOfMemory(const Shortage& shortage) {
  using c10::CachingAllocator::format_size;
  const auto& [device, asked, inUse, cached, largest, limit] = shortage;
  size_t free = 0;
  size_t total = 0;
  (void)orMemGetInfo(&free, &total, device); // zeros, if the device fails in just this moment
  const bool limited = limit < total;
  const char* hint = "free tensors, or make batches smaller";
  if (limited && asked <= free) {
    hint = "raise the limit with torch.openreg.set_per_process_memory_fraction()";
  } else if (asked <= cached) {
    hint = "free memory is in pieces; PYTORCH_ALLOC_CONF=max_split_size_mb:N keeps large blocks whole";
  }
  c10::reportOutOfMemoryToProfiler(
      static_cast<int64_t>(asked), inUse, inUse + cached, c10::Device(kDeviceType, device));
  TORCH_CHECK_WITH(
      OutOfMemoryError, false, "openreg out of memory. Tried to allocate ", format_size(asked), " on openreg:",
      static_cast<int>(device), ", which has ", format_size(free), " free of ", format_size(total),
      ". This process has ", format_size(inUse), " in use and ", format_size(cached), " cached, of which the largest ",
      "free block has ", format_size(largest), ". Its limit is ",
      limited ? format_size(limit) : std::string("the device's memory"), ". Hint: ", hint, ".");
}
// LITERALINCLUDE END: OUT OF MEMORY

} // namespace openreg
