// Calls about memory, other than copies.
#include "calls.h"
#include "simulator.h"

namespace openreg::sim {

orError_t malloc(void** ptr, size_t size, int index) {
  *ptr = nullptr;
  Device& device = *simulator().devices[static_cast<size_t>(index)];
  if (const orError_t error = device.use()) {
    return error;
  }
  if (size == 0) {
    return orSuccess;
  }
  *ptr = device.memory.allocate(size);
  if (*ptr == nullptr) {
    return orDriverError(
        orErrorMemoryAllocation, "argument 'size' is %zu bytes; device %d has %zu bytes free of %zu in total", size,
        index, device.memory.free(), device.memory.total());
  }
  return orSuccess;
}

orError_t free(void* ptr) {
  if (ptr == nullptr) {
    return orSuccess;
  }
  Device* device = simulator().deviceOf(ptr);
  const std::optional<Block> block = device != nullptr ? device->memory.find(ptr) : std::nullopt;
  if (block && block->base == ptr) {
    device->drain();
    device->awaitVisitors();
    if (device->memory.release(ptr)) {
      return orSuccess;
    }
  }
  if (device == nullptr) {
    return orDriverError(
        orErrorInvalidValue, "argument 'ptr' is %p, which is not device memory; expected a pointer from orMalloc", ptr);
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
      "pointer "
      "from orMalloc",
      ptr, device->index);
}

orError_t mallocHost(void** ptr, size_t size, int index) {
  *ptr = nullptr;
  // The device is in use from here on, as its driver would pin the pages; a failure of it does not matter.
  (void)simulator().devices[static_cast<size_t>(index)]->use();
  if (size == 0) {
    return orSuccess;
  }
  *ptr = simulator().pinned.allocate(size, index);
  if (*ptr == nullptr) {
    return orDriverError(
        orErrorMemoryAllocation, "argument 'size' is %zu bytes; the host has not so much memory", size);
  }
  return orSuccess;
}

orError_t freeHost(void* ptr) {
  if (ptr == nullptr || simulator().pinned.release(ptr)) {
    return orSuccess;
  }
  return orDriverError(
      orErrorInvalidValue,
      "argument 'ptr' is %p, which is not the start of live pinned memory; expected a pointer from orMallocHost", ptr);
}

orError_t memGetInfo(size_t* free, size_t* total, int index) {
  Device& device = *simulator().devices[static_cast<size_t>(index)];
  if (const orError_t error = device.use()) {
    return error;
  }
  *free = device.memory.free();
  *total = device.memory.total();
  return orSuccess;
}

orError_t pointerGetAttributes(orPointerAttributes* attributes, const void* ptr) {
  *attributes = {orMemoryTypeUnregistered, -1, nullptr, 0};
  if (const Device* device = simulator().deviceOf(ptr)) {
    if (const auto block = device->memory.find(ptr)) {
      *attributes = {orMemoryTypeDevice, device->index, const_cast<char*>(block->base), block->size};
    }
  } else if (const auto pinned = simulator().pinned.find(ptr)) {
    const auto& [block, index] = *pinned;
    *attributes = {orMemoryTypeHost, index, const_cast<char*>(block.base), block.size};
  }
  return orSuccess;
}

} // namespace openreg::sim
