// Device memory and pinned host memory. Copies and fills are in copy.cpp.
#include "activity.h"

using openreg::api::Entry;
using openreg::api::inForkedChild;
using openreg::api::RecordedEntry;
using openreg::api::thread;

namespace {
constexpr char kPointer[] = "where to put the pointer";

/// Allocates, of the device or pinned, and says so to who listens.
orError_t allocate(RecordedEntry& entry, orError_t (*OrDriver::*member)(void**, size_t, int), void** ptr, size_t size) {
  if (ptr != nullptr) {
    *ptr = nullptr; // Holds for every way this call can fail.
  }
  entry.notNull(ptr != nullptr, "ptr", kPointer).currentDevice();
  const orError_t error = entry.call(member, ptr, size, thread.device);
  if (entry.recorded()) [[unlikely]] {
    entry.memory(thread.device, ptr != nullptr ? *ptr : nullptr, size);
  }
  return error;
}

/// Frees either. Whose it was and how large is known only before.
orError_t release(const char* name, orError_t (*OrDriver::*member)(void*), void* ptr) {
  if (inForkedChild()) {
    return orSuccess;
  }
  RecordedEntry entry(name, orActivityFree);
  if (entry.recorded()) [[unlikely]] {
    orPointerAttributes attributes{};
    attributes.device = -1;
    const auto ask = openreg::api::driver().table.PointerGetAttributes;
    if (ask != nullptr && ask(&attributes, ptr) == orSuccess) {
      entry.memory(attributes.device, ptr, attributes.size);
    }
  }
  return entry.call(member, ptr);
}
} // namespace

orError_t orMalloc(void** ptr, size_t size) {
  RecordedEntry entry("orMalloc", orActivityAllocation);
  return allocate(entry, &OrDriver::Malloc, ptr, size);
}

orError_t orFree(void* ptr) {
  return release("orFree", &OrDriver::Free, ptr);
}

orError_t orMallocHost(void** ptr, size_t size) {
  RecordedEntry entry("orMallocHost", orActivityAllocation);
  return allocate(entry, &OrDriver::MallocHost, ptr, size);
}

orError_t orFreeHost(void* ptr) {
  return release("orFreeHost", &OrDriver::FreeHost, ptr);
}

orError_t orMemGetInfo(size_t* free, size_t* total, int device) {
  Entry entry("orMemGetInfo");
  entry.notNull(free != nullptr, "free", "where to put the free bytes");
  entry.notNull(total != nullptr, "total", "where to put the total bytes");
  entry.device(device);
  return entry.call(&OrDriver::MemGetInfo, free, total, device);
}

orError_t orPointerGetAttributes(orPointerAttributes* attributes, const void* ptr) {
  Entry entry("orPointerGetAttributes");
  entry.notNull(attributes != nullptr, "attributes", "where to put the answer");
  return entry.call(&OrDriver::PointerGetAttributes, attributes, ptr);
}

orError_t orIpcGetMemHandle(orIpcMemHandle* handle, void* ptr) {
  Entry entry("orIpcGetMemHandle");
  entry.notNull(handle != nullptr, "handle", "where to put the handle");
  entry.notNull(ptr != nullptr, "ptr", "the start of device memory");
  return entry.call(&OrDriver::IpcGetMemHandle, handle, ptr);
}

orError_t orIpcOpenMemHandle(void** ptr, const orIpcMemHandle* handle) {
  if (ptr != nullptr) {
    *ptr = nullptr;
  }
  Entry entry("orIpcOpenMemHandle");
  entry.notNull(ptr != nullptr, "ptr", kPointer).notNull(handle != nullptr, "handle", "a handle").currentDevice();
  return entry.call(&OrDriver::IpcOpenMemHandle, ptr, handle, thread.device);
}

orError_t orIpcCloseMemHandle(void* ptr) {
  if (inForkedChild()) {
    return orSuccess;
  }
  Entry entry("orIpcCloseMemHandle");
  entry.notNull(ptr != nullptr, "ptr", "what orIpcOpenMemHandle gave");
  return entry.call(&OrDriver::IpcCloseMemHandle, ptr);
}
