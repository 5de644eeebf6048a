// Calls about memory, other than copies.
#include "calls.h"
#include "lookup.h"
#include "openreg_driver.h"
#include "wire/text.h"

namespace openreg::process {

orError_t malloc(void** ptr, size_t size, int index) {
  *ptr = nullptr;
  Device& device = host().device(index);
  if (const orError_t error = device.use()) {
    return error;
  }
  if (size == 0) {
    return orSuccess;
  }
  const uint64_t life = device.life();
  AddressFrame answer;
  if (const orError_t error =
          device.request(Kind::Malloc, {pieceOf(SizeFrame{.size = size})}, &answer, sizeof(answer))) {
    return error; // The executor's, with what was asked, free and in total.
  }
  if (device.memory.note(reinterpret_cast<const char*>(answer.address), size) != sim::Noted::Now) {
    return device.distrust(
        life, described(
                  "has allocated %zu bytes at 0x%llx, which are not free addresses of its device", size,
                  static_cast<unsigned long long>(answer.address)));
  }
  *ptr = reinterpret_cast<void*>(answer.address);
  host().peers.announce(device, *ptr, size);
  return orSuccess;
}

orError_t free(void* ptr) {
  if (ptr == nullptr) {
    return orSuccess;
  }
  Device* device = host().deviceOf(ptr);
  if (device == nullptr) {
    return orDriverError(
        orErrorInvalidValue, "argument 'ptr' is %p, which is not device memory; expected a pointer from orMalloc", ptr);
  }
  const std::optional<sim::Block> block = device->memory.find(ptr);
  if (block && block->base == ptr) {
    device->drain();
    device->awaitVisitors();
    if (device->memory.forget(block->base)) {
      // Posted in this order: an address is free for the next Malloc only when all have forgotten it.
      host().peers.announce(*device, ptr, 0);
      if (const auto executor = device->running()) {
        executor->post(Kind::Free, {pieceOf(AddressFrame{.address = reinterpret_cast<uint64_t>(ptr)})});
      }
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

orError_t mallocHost(void** ptr, size_t size, int index) {
  *ptr = nullptr;
  // The device is in use from here on, as its driver would pin the pages; a failure of it does not matter.
  (void)host().device(index).use();
  if (size == 0) {
    return orSuccess;
  }
  *ptr = host().shared().pinned.allocate(size, index);
  if (*ptr == nullptr) {
    return orDriverError(
        orErrorMemoryAllocation, "argument 'size' is %zu bytes; the host has not so much memory", size);
  }
  return orSuccess;
}

orError_t freeHost(void* ptr) {
  Shared* shared = host().sharedIfAny();
  if (ptr == nullptr || (shared != nullptr && shared->pinned.release(ptr))) {
    return orSuccess;
  }
  return orDriverError(
      orErrorInvalidValue,
      "argument 'ptr' is %p, which is not the start of live pinned memory; expected a pointer from orMallocHost", ptr);
}

orError_t memGetInfo(size_t* free, size_t* total, int index) {
  Device& device = host().device(index);
  if (const orError_t error = device.use()) {
    return error;
  }
  const uint64_t life = device.life();
  MemInfoAnswer answer;
  if (const orError_t error = device.request(Kind::MemInfo, {}, &answer, sizeof(answer))) {
    return error;
  }
  if (answer.total != device.memory.total() || answer.free > answer.total) {
    return device.distrust(
        life,
        described(
            "says that %llu of %llu bytes are free; its device has %zu", static_cast<unsigned long long>(answer.free),
            static_cast<unsigned long long>(answer.total), device.memory.total()));
  }
  *free = answer.free;
  *total = answer.total;
  return orSuccess;
}

orError_t pointerGetAttributes(orPointerAttributes* attributes, const void* ptr) {
  *attributes = {orMemoryTypeUnregistered, -1, nullptr, 0};
  if (const Device* device = host().deviceOf(ptr)) {
    if (const auto block = device->memory.find(ptr)) {
      *attributes = {orMemoryTypeDevice, device->index, const_cast<char*>(block->base), block->size};
    }
  } else if (Shared* shared = host().sharedIfAny()) {
    if (const auto pinned = shared->pinned.find(ptr)) {
      *attributes = {orMemoryTypeHost, pinned->device, const_cast<char*>(pinned->block.base), pinned->block.size};
    }
  }
  return orSuccess;
}

} // namespace openreg::process
