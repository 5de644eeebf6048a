// What a stream does for the functions of openreg.h: frames.
#include <algorithm>
#include <array>
#include <cstring>

#include "host.h"
#include "host_function.h"

namespace openreg::process {

namespace {

/// If the arguments point into a peer's memory, the device's executor must know that. Gives those peers, and how many
/// they are.
size_t introducePeers(
    Device& device,
    const void* args,
    const orPointerArg* pointers,
    size_t count,
    std::array<Device*, kMaxDevices>& found) {
  size_t foundCount = 0;
  for (size_t i = 0; i < count; ++i) {
    uintptr_t pointer = 0;
    std::memcpy(&pointer, static_cast<const char*>(args) + pointers[i].offset, sizeof(pointer));
    const auto* first = reinterpret_cast<const char*>(pointer + static_cast<uintptr_t>(pointers[i].lower));
    if (pointers[i].extent == 0 || device.memory.covers(first)) {
      continue;
    }
    if (Device* peer = host().deviceOf(first); peer != nullptr && host().peers.canAccess(device, *peer)) {
      host().peers.introduce(device, *peer);
      if (std::find(found.begin(), found.begin() + foundCount, peer) == found.begin() + foundCount) {
        found[foundCount++] = peer;
      }
    }
  }
  return foundCount;
}

} // namespace

bool Stream::close(uint64_t expected) {
  return device().destroyStream(*this, expected);
}

orError_t Stream::poll(uint64_t expected, bool& idle) {
  Point end;
  const orError_t error = device().endOf(*this, expected, end);
  idle = error == orSuccess && end.reached();
  return error;
}

orError_t Stream::synchronize(uint64_t expected) {
  Point end;
  const orError_t error = device().endOf(*this, expected, end);
  end.wait();
  return error;
}

orError_t Stream::queueWait(uint64_t expected, Event& event) {
  const Point point = event.latest();
  if (point.reached() || (point.device == &device() && point.lane == lane())) {
    return orSuccess; // What is complete stays so, and a stream is in order anyway.
  }
  const WaitFrame frame{
      .ofDevice = point.device->index, .ofStream = point.lane, .kind = FenceKind::Device, .value = point.value};
  return device().submit(*this, expected, Kind::Wait, frame);
}

orError_t Stream::queueHostFunction(uint64_t expected, orHostFn_t function, void* userData) {
  return process::queueHostFunction(*this, expected, function, userData);
}

orError_t Stream::queueCopy(uint64_t expected, const Place& dst, const Place& src, size_t size, Device* other) {
  if (other != nullptr && !host().peers.introduce(device(), *other)) {
    const orError_t error = device().failure.check();
    return error != orSuccess ? error
                              : orDriverError(
                                    orErrorDeviceLost, "device %d or %d has no executor; expected both to have one",
                                    device().index, other->index);
  }
  CopyFrame frame;
  frame.toWhere = dst.where;
  frame.fromWhere = src.where;
  frame.to = dst.at;
  frame.from = src.at;
  frame.size = size;
  for (const Place* end : {&dst, &src}) {
    if (end->where == Where::Pinned) {
      if (const orError_t error = host().pinned().open(end->host, device())) {
        return error;
      }
    }
  }
  Point point;
  if (const orError_t error = device().submit(*this, expected, Kind::Copy, frame, {}, {}, &point)) {
    return error;
  }
  for (const Place* end : {&dst, &src}) {
    if (end->where == Where::Pinned) {
      host().pinned().addUse(end->host, point); // So that freeing it waits.
    }
  }
  if (other != nullptr) {
    other->noteVisit(point); // Likewise.
  }
  return orSuccess;
}

orError_t Stream::queueFill(uint64_t expected, const Place& dst, int value, size_t size) {
  FillFrame frame;
  frame.value = value;
  frame.address = dst.at;
  frame.size = size;
  return device().submit(*this, expected, Kind::Fill, frame);
}

orError_t Stream::copyNow(uint64_t expected, const Place& dst, const Place& src, size_t size) {
  if (size != 0 && dst.mayBeQueued() && src.mayBeQueued() && (dst.host == nullptr || src.host == nullptr)) {
    if (const orError_t error = queueCopy(expected, dst, src, size, nullptr)) {
      return error;
    }
    size = 0;
  }
  if (const orError_t error = synchronize(expected)) {
    return error;
  }
  if (const orError_t error = device().surface(); error != orSuccess || size == 0) {
    return error;
  }
  if (dst.host != nullptr && src.host != nullptr) {
    std::memmove(const_cast<char*>(dst.host), src.host, size);
    return orSuccess;
  }
  return copyPageable(*this, expected, dst, src, size);
}

// LITERALINCLUDE START: PROCESS LAUNCH
orError_t Stream::queueLaunch(
    uint64_t expected,
    const Kernel& kernel,
    const void* args,
    size_t argsSize,
    const orPointerArg* pointers,
    size_t pointerCount) {
  std::array<Device*, kMaxDevices> peers{};
  const size_t peerCount = introducePeers(device(), args, pointers, pointerCount, peers);
  const LaunchFrame frame{
      .argsSize = static_cast<uint16_t>(argsSize),
      .pointerCount = static_cast<uint16_t>(pointerCount),
      .kernel = kernel.remote};
  // The descriptors go first: the argument bytes may end anywhere.
  Point end;
  const orError_t error = device().submit(
      *this, expected, Kind::Launch, frame, std::as_bytes(std::span(pointers, pointerCount)),
      std::as_bytes(std::span(static_cast<const char*>(args), argsSize)), &end);
  for (size_t i = 0; i < peerCount && error == orSuccess; ++i) {
    peers[i]->noteVisit(end);
  }
  return error;
}
// LITERALINCLUDE END: PROCESS LAUNCH

} // namespace openreg::process
