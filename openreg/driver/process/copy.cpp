// The ends of a copy, and copies of memory that executors cannot reach.
#include "copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "host.h"

namespace openreg::process {

bool Place::resolveDevice(const void* ptr, size_t size, const Device& device) {
  const auto block = device.memory.find(ptr);
  at = reinterpret_cast<uint64_t>(ptr);
  return block && block->holds(ptr, size);
}

bool Place::resolveHost(const void* ptr, size_t size, const Device&) {
  host = static_cast<const char*>(ptr);
  const Pinned* pinned = process::host().pinnedIfAny();
  const auto offset = pinned != nullptr ? pinned->offsetOf(ptr, size) : std::nullopt;
  pageable = !offset;
  if (offset) {
    where = Where::Pinned;
    at = *offset;
  }
  return offset || pinned == nullptr || !pinned->find(ptr);
}

orError_t copyPageable(Stream& stream, uint64_t handle, const Place& dst, const Place& src, size_t size) {
  Device& device = stream.device();
  Pinned& pinned = host().pinned();
  const Pinned::Bounce bounce(pinned, device.index);
  if (const orError_t error = pinned.open(bounce.bytes(), device)) {
    return error;
  }
  const bool toDevice = src.pageable;
  const size_t chunks = (size + kCopyChunk - 1) / kCopyChunk;
  const auto bytesOf = [&](size_t chunk) { return std::min<size_t>(kCopyChunk, size - chunk * kCopyChunk); };
  const auto placeOf = [&](size_t chunk) { return bounce.bytes() + chunk % kInFlight * kCopyChunk; };
  std::array<Point, kInFlight> done{}; // Of the chunk in each place.
  const auto post = [&](size_t chunk) {
    CopyFrame frame;
    const uint64_t ours = *pinned.offsetOf(placeOf(chunk), bytesOf(chunk));
    const uint64_t theirs = (toDevice ? dst.at : src.at) + chunk * kCopyChunk;
    frame.toWhere = toDevice ? Where::Device : Where::Pinned;
    frame.fromWhere = toDevice ? Where::Pinned : Where::Device;
    frame.to = toDevice ? theirs : ours;
    frame.from = toDevice ? ours : theirs;
    frame.size = bytesOf(chunk);
    if (const orError_t failed = device.submit(stream, handle, Kind::Copy, frame)) {
      return failed;
    }
    Point& end = done[chunk % kInFlight];
    const orError_t ended = device.endOf(stream, handle, end);
    device.hurry(end.lane); // The point of chunks is that both sides work at once.
    return ended;
  };
  // A chunk's turn: what its place held before is through; the host's half of its copy; the executor's half.
  orError_t error = orSuccess;
  for (size_t turn = 0; turn < chunks + kInFlight && error == orSuccess; ++turn) {
    if (turn >= kInFlight && turn - kInFlight < chunks) {
      const size_t before = turn - kInFlight;
      device.wait(done[before % kInFlight]);
      if ((error = device.surface()) != orSuccess) {
        break;
      }
      if (!toDevice) {
        std::memcpy(const_cast<char*>(dst.host) + before * kCopyChunk, placeOf(before), bytesOf(before));
      }
    }
    if (turn < chunks) {
      if (toDevice) {
        std::memcpy(placeOf(turn), src.host + turn * kCopyChunk, bytesOf(turn));
      }
      error = post(turn);
    }
  }
  for (const Point& end : done) {
    end.wait(); // Also after an error: the executor may still be using the memory.
  }
  return error != orSuccess ? error : device.surface();
}

} // namespace openreg::process
