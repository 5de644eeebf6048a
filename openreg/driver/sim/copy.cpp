// Copies and fills.
#include "copy.h"

#include <cstring>
#include <utility>

#include "simulator.h"

namespace openreg::sim {

bool Place::resolveDevice(const void* ptr, size_t size, const Device& device) {
  auto found = device.memory.span(ptr, size);
  if (!found) {
    return false;
  }
  span = std::move(*found);
  bytes = span.bytes;
  return true;
}

bool Place::resolveHost(const void* ptr, size_t size, const Device& device) {
  bytes = const_cast<char*>(static_cast<const char*>(ptr));
  pinned = simulator().pinned().use(ptr, size, device);
  return pinned || !simulator().pinned().find(ptr);
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
