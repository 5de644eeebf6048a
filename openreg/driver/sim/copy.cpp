// Copies and fills.
#include "copy.h"

#include <cstring>
#include <utility>

#include "openreg_driver.h"
#include "simulator.h"
#include "stale.h"

namespace openreg::sim {

orError_t resolve(Place& place, const char* argument, const void* ptr, size_t size, Want want, const Device& device) {
  if (size == 0) {
    return orSuccess;
  }
  const Device* owner = simulator().deviceOf(ptr);
  place.onDevice = owner != nullptr;
  if (owner == nullptr) {
    if (want == Want::Device) {
      return orDriverError(
          orErrorInvalidValue, "argument '%s' is %p, which is not device memory; expected memory of device %d",
          argument, ptr, device.index);
    }
    place.bytes = const_cast<char*>(static_cast<const char*>(ptr));
    place.pinned = simulator().pinned.use(ptr, size, device);
    if (!place.pinned) {
      if (const auto block = simulator().pinned.find(ptr)) {
        return orDriverError(
            orErrorInvalidValue,
            "argument '%s' is %p in pinned memory of %zu bytes; expected all %zu bytes of the copy to lie in it",
            argument, ptr, block->first.size, size);
      }
    }
    return orSuccess;
  }
  if (owner->memory.stale(ptr)) {
    return stalePointer(argument, ptr, owner->index);
  }
  if (want == Want::Host) {
    return orDriverError(
        orErrorInvalidValue, "argument '%s' is %p, which is memory of device %d; expected host memory", argument, ptr,
        owner->index);
  }
  if (owner != &device) {
    return orDriverError(
        orErrorInvalidValue, "argument '%s' is %p, which is memory of device %d; expected memory of device %d",
        argument, ptr, owner->index, device.index);
  }
  auto span = owner->memory.span(ptr, size);
  if (!span) {
    return orDriverError(
        orErrorInvalidValue,
        "argument '%s' is %p; expected all %zu bytes from there to lie in one live allocation of device %d", argument,
        ptr, size, device.index);
  }
  place.span = std::move(*span);
  place.bytes = place.span.bytes;
  return orSuccess;
}

CopyCommand::CopyCommand(Place&& dst, Place&& src, size_t size)
    : dst_(std::move(dst)), src_(std::move(src)), size_(size) {}

void CopyCommand::run(Stream& stream) {
  Device& device = stream.device();
  device.delay(device.copyDelayNs.load(std::memory_order_relaxed));
  if (size_ != 0 && !device.failure.exists()) {
    std::memmove(dst_.bytes, src_.bytes, size_); // The ranges may overlap when both are of one device.
  }
}

FillCommand::FillCommand(Place&& dst, int value, size_t size) : dst_(std::move(dst)), value_(value), size_(size) {}

void FillCommand::run(Stream& stream) {
  Device& device = stream.device();
  device.delay(device.copyDelayNs.load(std::memory_order_relaxed));
  if (size_ != 0 && !device.failure.exists()) {
    std::memset(dst_.bytes, value_, size_);
  }
}

} // namespace openreg::sim
