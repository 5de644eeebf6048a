// Calls about memory shared between processes.
#pragma once

#include "calls.h"
#include "common/memory/shared_file.h"
#include "event_calls.h"

namespace openreg {

/// Why there are no addresses for `bytes` bytes of another process.
inline orError_t noAddresses(int device, size_t bytes, size_t total) {
  return orDriverError(
      orErrorMemoryAllocation,
      "argument 'handle' names %zu bytes; device %d has not so many addresses left of the %zu bytes it has for memory "
      "of other processes",
      bytes, device, total);
}

template <class Driver>
struct IpcCalls {
  using Given = openreg::Given<Driver>;

  static void ipcGetMemHandle(orIpcMemHandle* handle, void* ptr) {
    auto* device = Given::all().deviceOf(ptr);
    const auto block = device != nullptr ? device->memory.find(ptr) : std::nullopt;
    if (!block || block->base != ptr) {
      refuse(ptr, "which is not the start of live device memory; expected a pointer from orMalloc");
    }
    if (device->memory.isForeign(ptr)) {
      refuse(ptr, "which another process shares; expected memory of this process, from orMalloc");
    }
    require(device->use());
    Given::all().captures.requireSafe();
    const std::optional<orIpcMemHandle> shared = device->share(block->base);
    if (!shared) {
      refuse(ptr, "which has been freed meanwhile; expected live device memory");
    }
    *handle = *shared;
  }

  static void ipcOpenMemHandle(void** ptr, const orIpcMemHandle* handle, int index) {
    *ptr = nullptr;
    auto& device = Given::usedDevice(index);
    *ptr = device.open(openShared(*handle, SharedKind::Memory));
  }

  static orError_t ipcCloseMemHandle(void* ptr) {
    Given::all().captures.requireSafe();
    auto* device = Given::all().deviceOf(ptr);
    const auto block = device != nullptr ? device->memory.find(ptr) : std::nullopt;
    if (block && block->base == ptr && device->memory.isForeign(ptr)) {
      device->drain();
      device->awaitVisitors();
      if (device->close(block->base)) {
        return orSuccess;
      }
    }
    if (device != nullptr && device->memory.covered(ptr)) {
      return orSuccess; // From before a reset, as with orFree.
    }
    refuse(ptr, "which is not the start of open memory of another process; expected a pointer from orIpcOpenMemHandle");
  }

  static void ipcGetEventHandle(orIpcEventHandle* handle, orEvent_t event) {
    const auto shared = Given::event(event).shared();
    const auto named = shared != nullptr ? shared->handle() : std::nullopt;
    if (!named) {
      throw Refused{orDriverError(
          orErrorInvalidValue, "argument 'event' is 0x%llx, which %s; expected an interprocess event of this process",
          static_cast<unsigned long long>(number(event)),
          shared != nullptr ? "another process shares" : "was created without orEventInterprocess")};
    }
    *handle = *named;
  }

  static void ipcOpenEventHandle(orEvent_t* event, const orIpcEventHandle* handle, int index) {
    EventCalls<Driver>::create(event, index, false, SharedEvent::open(*handle));
  }

 private:
  [[noreturn]] static void refuse(const void* ptr, const char* why) {
    throw Refused{orDriverError(orErrorInvalidValue, "argument 'ptr' is %p, %s", ptr, why)};
  }
};

} // namespace openreg
