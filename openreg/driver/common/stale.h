// Pointers from before a reset, found at the call: a launch that got as far as the device would fail it anew.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "common/memory/memory.h"
#include "refused.h"

namespace openreg {

/// Refuses a call for a pointer to memory that a device had before it was reset. `argument` says which one it is.
[[noreturn]] inline void refuseStale(const char* argument, const void* ptr, int device) {
  throw Refused{orDriverError(
      orErrorInvalidValue,
      "argument '%s' is %p, which is memory of device %d from before its reset; expected memory "
      "that was allocated after it",
      argument, ptr, device)};
}

// LITERALINCLUDE START: REFUSE STALE
/// Refuses a launch that was given memory from before a reset of any of the devices. Where nothing was ever reset that
/// costs one load; afterwards two comparisons for each pointer and device.
template <class Devices>
void refuseStale(const Devices& devices, const void* args, const orPointerArg* pointers, size_t count) {
  if (!Memory::anyStale()) [[likely]] {
    return;
  }
  for (const orPointerArg* it = pointers; it != pointers + count; ++it) {
    uintptr_t pointer = 0;
    std::memcpy(&pointer, static_cast<const char*>(args) + it->offset, sizeof(pointer));
    // Computed as a number, as a wrong pointer may overflow.
    const auto* first = reinterpret_cast<const char*>(pointer + static_cast<uintptr_t>(it->lower));
    for (const auto& device : devices) {
      if (it->extent != 0 && device->memory.stale(first)) {
        refuseStale("pointers", reinterpret_cast<const void*>(pointer), device->index);
      }
    }
  }
}
// LITERALINCLUDE END: REFUSE STALE

} // namespace openreg
