// Calls about memory, other than copies.
#pragma once

#include "calls.h"

namespace openreg {

template <class Driver>
struct MemoryCalls {
  using Given = openreg::Given<Driver>;

  static void malloc(void** ptr, size_t size, int index) {
    *ptr = nullptr;
    auto& it = Given::usedDevice(index);
    Given::all().captures.requireSafe();
    if (size != 0) {
      *ptr = it.allocate(size);
    }
  }

  static orError_t free(void* ptr) {
    if (ptr == nullptr) {
      return orSuccess;
    }
    Given::all().captures.requireSafe();
    auto* device = Given::all().deviceOf(ptr);
    if (device == nullptr) {
      return orDriverError(
          orErrorInvalidValue, "argument 'ptr' is %p, which is not device memory; expected a pointer from orMalloc",
          ptr);
    }
    const std::optional<Block> block = device->memory.find(ptr);
    if (device->memory.isForeign(ptr)) {
      return orDriverError(
          orErrorInvalidValue,
          "argument 'ptr' is %p, which another process shares; expected orIpcCloseMemHandle to be called for it", ptr);
    }
    if (block && block->base == ptr) {
      device->drain();
      device->awaitVisitors();
      if (device->release(ptr)) {
        return orSuccess;
      }
    }
    if (device->memory.covered(ptr)) {
      return orSuccess; // From before a reset: a deleter that comes late is no error.
    }
    if (block && block->base != ptr) {
      return orDriverError(
          orErrorInvalidValue,
          "argument 'ptr' is %p, which lies inside the allocation at %p; expected the start of an allocation", ptr,
          static_cast<const void*>(block->base));
    }
    return orDriverError(
        orErrorInvalidValue,
        "argument 'ptr' is %p, an address of device %d where nothing is allocated (freed already?); expected a live "
        "pointer from orMalloc",
        ptr, device->index);
  }

  static orError_t mallocHost(void** ptr, size_t size, int index) {
    *ptr = nullptr;
    // The device is in use from here on, as its driver would pin the pages; a failure of it does not matter.
    (void)Given::device(index).use();
    if (size == 0) {
      return orSuccess;
    }
    Given::all().captures.requireSafe();
    *ptr = Given::all().pinned().allocate(size, index);
    if (*ptr == nullptr) {
      return orDriverError(
          orErrorMemoryAllocation, "argument 'size' is %zu bytes; the host has not so much memory", size);
    }
    return orSuccess;
  }

  static orError_t freeHost(void* ptr) {
    if (ptr != nullptr) {
      Given::all().captures.requireSafe();
    }
    auto* pinned = Given::all().pinnedIfAny();
    if (ptr == nullptr || (pinned != nullptr && pinned->release(ptr))) {
      return orSuccess;
    }
    return orDriverError(
        orErrorInvalidValue,
        "argument 'ptr' is %p, which is not the start of live pinned memory; expected a pointer from orMallocHost",
        ptr);
  }

  static void memGetInfo(size_t* free, size_t* total, int index) { Given::usedDevice(index).info(free, total); }

  static void pointerGetAttributes(orPointerAttributes* attributes, const void* ptr) {
    *attributes = {orMemoryTypeUnregistered, -1, nullptr, 0};
    if (const auto* device = Given::all().deviceOf(ptr)) {
      if (const auto block = device->memory.find(ptr)) {
        *attributes = {orMemoryTypeDevice, device->index, const_cast<char*>(block->base), block->size};
      }
    } else if (const auto* pinned = Given::all().pinnedIfAny()) {
      if (const auto block = pinned->find(ptr)) {
        *attributes = {orMemoryTypeHost, block->device, const_cast<char*>(block->base), block->size};
      }
    }
  }
};

} // namespace openreg
