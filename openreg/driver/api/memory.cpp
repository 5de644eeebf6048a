// Device memory and pinned host memory. Copies and fills are in copy.cpp.
#include "entry.h"

using openreg::api::Entry;
using openreg::api::inForkedChild;
using openreg::api::thread;

namespace {
constexpr char kPointer[] = "where to put the pointer";
} // namespace

orError_t orMalloc(void** ptr, size_t size) {
  if (ptr != nullptr) {
    *ptr = nullptr; // Holds for every way this call can fail.
  }
  Entry entry("orMalloc");
  entry.notNull(ptr != nullptr, "ptr", kPointer).currentDevice();
  return entry.call(&OrDriver::Malloc, ptr, size, thread.device);
}

orError_t orFree(void* ptr) {
  return openreg::api::release("orFree", &OrDriver::Free, ptr);
}

orError_t orMallocHost(void** ptr, size_t size) {
  if (ptr != nullptr) {
    *ptr = nullptr;
  }
  Entry entry("orMallocHost");
  entry.notNull(ptr != nullptr, "ptr", kPointer).currentDevice();
  return entry.call(&OrDriver::MallocHost, ptr, size, thread.device);
}

orError_t orFreeHost(void* ptr) {
  return openreg::api::release("orFreeHost", &OrDriver::FreeHost, ptr);
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
