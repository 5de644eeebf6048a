// Copies and fills.
#include "copy.h"

#include <cstring>
#include <utility>

#include "pool.h"
#include "simulator.h"

namespace openreg::sim {

namespace {

/// Copies within the device's reach. As a copy engine does, it takes all the memory's width: several threads share
/// what is large. Ranges that overlap are one piece.
void copyBytes(char* dst, const char* src, size_t size) {
  constexpr int64_t kPiece = int64_t{256} << 10;
  if (dst < src + size && src < dst + size) {
    std::memmove(dst, src, size);
    return;
  }
  std::pair ends(dst, src);
  ComputePool::instance().run(
      static_cast<int64_t>(size), kPiece,
      [](void* state, int64_t begin, int64_t end) {
        const auto& [dst, src] = *static_cast<std::pair<char*, const char*>*>(state);
        std::memcpy(dst + begin, src + begin, static_cast<size_t>(end - begin));
      },
      &ends);
}

} // namespace

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

void describeCopy(orActivityRecord& record, const Place& dst, const Place& src, size_t size) {
  const bool toHost = dst.span.held == nullptr;
  const bool fromHost = src.span.held == nullptr;
  record.kind = orActivityMemcpy;
  record.name = "memcpy";
  record.bytes = size;
  record.direction = toHost     ? (fromHost ? orMemcpyHostToHost : orMemcpyDeviceToHost)
                     : fromHost ? orMemcpyHostToDevice
                                : orMemcpyDeviceToDevice;
  record.host = dst.pinned || src.pinned ? orMemoryTypeHost : orMemoryTypeUnregistered;
}

CopyCommand::CopyCommand(Place&& dst, Place&& src, size_t size, int peer)
    : dst_(std::move(dst)), src_(std::move(src)), size_(size), peer_(peer) {}

bool CopyCommand::describeWork(orActivityRecord& record) const {
  describeCopy(record, dst_, src_, size_);
  record.peer = peer_;
  return true;
}

void CopyCommand::run(Stream& stream) {
  Device& device = stream.device();
  device.delay(device.copyDelayNs.load(std::memory_order_relaxed));
  if (size_ == 0 || device.failure.exists()) {
    correlation = 0; // It was not done.
    return;
  }
  const Standstill::Touch touch(simulator().standstill);
  copyBytes(dst_.bytes, src_.bytes, size_);
}

FillCommand::FillCommand(Place&& dst, int value, size_t size) : dst_(std::move(dst)), value_(value), size_(size) {}

void FillCommand::run(Stream& stream) {
  Device& device = stream.device();
  device.delay(device.copyDelayNs.load(std::memory_order_relaxed));
  if (device.failure.exists()) {
    correlation = 0;
    return;
  }
  const Standstill::Touch touch(simulator().standstill);
  std::memset(dst_.bytes, value_, size_);
}

bool FillCommand::describeWork(orActivityRecord& record) const {
  record.kind = orActivityMemset;
  record.name = "memset";
  record.bytes = size_;
  return true;
}

} // namespace openreg::sim
