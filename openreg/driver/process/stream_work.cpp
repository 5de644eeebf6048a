// What a stream does for the functions of openreg.h: frames.
#include <algorithm>
#include <array>
#include <cstring>

#include "host.h"

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
    if (Device* peer = peerOf(device, args, pointers[i])) {
      host().peers.introduce(device, *peer);
      if (std::find(found.begin(), found.begin() + foundCount, peer) == found.begin() + foundCount) {
        found[foundCount++] = peer;
      }
    }
  }
  return foundCount;
}

orActivityRecord workOfCopy(const Place& dst, const Place& src, size_t size, const Device* other) {
  orActivityRecord work =
      copyWork(dst.host != nullptr, src.host != nullptr, size, other != nullptr ? other->index : -1);
  const bool pinned = dst.where == Where::Pinned || src.where == Where::Pinned;
  work.host = pinned ? orMemoryTypeHost : orMemoryTypeUnregistered;
  return work;
}

} // namespace

orActivityRecord copyWork(bool toHost, bool fromHost, size_t size, int peer) {
  orActivityRecord work = workOf(orActivityMemcpy, "memcpy", size);
  work.direction = toHost     ? (fromHost ? orMemcpyHostToHost : orMemcpyDeviceToHost)
                   : fromHost ? orMemcpyHostToDevice
                              : orMemcpyDeviceToDevice;
  work.host = toHost || fromHost ? orMemoryTypeHost : orMemoryTypeUnregistered;
  work.peer = peer;
  return work;
}

Device* peerOf(const Device& device, const void* args, const orPointerArg& argument) {
  uintptr_t pointer = 0;
  std::memcpy(&pointer, static_cast<const char*>(args) + argument.offset, sizeof(pointer));
  const auto* first = reinterpret_cast<const char*>(pointer + static_cast<uintptr_t>(argument.lower));
  if (argument.extent == 0 || device.memory.covers(first)) {
    return nullptr;
  }
  Device* owner = host().deviceOf(first);
  return owner != nullptr && device.canAccess(*owner) ? owner : nullptr;
}

bool Stream::close(uint64_t expected) {
  return device().destroyStream(*this, expected);
}

HeldStream::HeldStream(const Stream& stream, uint64_t expected) {
  stream.device().hold(*this, stream, expected);
}

HeldStream::~HeldStream() {
  device().letGo(*this);
}

bool Stream::poll(uint64_t expected) {
  return device().endOf(*this, expected).reached();
}

void Stream::synchronize(uint64_t expected) {
  device().endOf(*this, expected).wait();
}

void Stream::queueWait(uint64_t expected, Event& event) {
  const Point point = event.latest();
  if (point.reached() || (point.device == &device() && point.lane == lane())) {
    return; // What is complete stays so, and a stream is in order anyway.
  }
  const WaitFrame frame{
      .ofDevice = point.device->index, .ofStream = point.lane, .kind = FenceKind::Device, .value = point.value};
  device().submit(*this, expected, Kind::Wait, frame, workOf(orActivityWait, "wait"));
}

void Stream::queueCopy(uint64_t expected, const Place& dst, const Place& src, size_t size, Device* other) {
  if (other != nullptr && !host().peers.introduce(device(), *other)) {
    require(device().failure.check());
    throw Refused{orDriverError(
        orErrorDeviceLost, "device %d or %d has no executor; expected both to have one", device().index, other->index)};
  }
  const CopyFrame frame{.toWhere = dst.where, .fromWhere = src.where, .to = dst.at, .from = src.at, .size = size};
  for (const Place* end : {&dst, &src}) {
    if (end->where == Where::Pinned) {
      host().pinned().open(end->host, device());
    }
  }
  const Point point = device().submit(*this, expected, Kind::Copy, frame, workOfCopy(dst, src, size, other));
  for (const Place* end : {&dst, &src}) {
    if (end->where == Where::Pinned) {
      host().pinned().addUse(end->host, point); // So that freeing it waits.
    }
  }
  if (other != nullptr) {
    other->noteVisit(point); // Likewise.
  }
}

void Stream::queueFill(uint64_t expected, const Place& dst, int value, size_t size) {
  const FillFrame frame{.value = value, .address = dst.at, .size = size};
  device().submit(*this, expected, Kind::Fill, frame, workOf(orActivityMemset, "memset", size));
}

void Stream::copyNow(uint64_t expected, const Place& dst, const Place& src, size_t size) {
  HeldStream held(*this, expected);
  if (size != 0 && dst.mayBeQueued() && src.mayBeQueued() && (dst.host == nullptr || src.host == nullptr)) {
    held.queueCopy(expected, dst, src, size, nullptr);
    size = 0;
  }
  held.synchronize(expected);
  require(device().surface());
  orActivityRecord work = workOfCopy(dst, src, size, nullptr);
  work.startNs = nowNs();
  if (size != 0 && dst.host != nullptr && src.host != nullptr) {
    std::memmove(const_cast<char*>(dst.host), src.host, size);
  } else if (size != 0) {
    copyPageable(held, expected, dst, src, size);
  }
  if (size != 0 && work.correlation != 0) [[unlikely]] {
    work.device = device().index;
    work.stream = openreg::handleOf<orStream_t>(expected);
    work.endNs = nowNs();
    host().activity.deliver(work); // One, however many pieces it was copied in.
  }
}

// LITERALINCLUDE START: PROCESS LAUNCH
void Stream::queueLaunch(
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
  const Point end = device().submit(
      *this, expected, Kind::Launch, frame, workOf(orActivityKernel, kernel.name()),
      std::as_bytes(std::span(pointers, pointerCount)),
      std::as_bytes(std::span(static_cast<const char*>(args), argsSize)));
  for (size_t i = 0; i < peerCount; ++i) {
    peers[i]->noteVisit(end);
  }
}
// LITERALINCLUDE END: PROCESS LAUNCH

} // namespace openreg::process
