// The ends of a copy, and copies of memory that executors cannot reach.
#include "copy.h"

#include <algorithm>
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

void copyPageable(Stream& stream, uint64_t handle, const Place& dst, const Place& src, size_t size) {
  Device& device = stream.device();
  Pinned& pinned = host().pinned();
  Pinned::Bounce bounce(pinned, device.index);
  pinned.open(bounce.bytes(), device);
  const bool toDevice = src.pageable;
  const size_t chunks = (size + kCopyChunk - 1) / kCopyChunk;
  const auto bytesOf = [&](size_t chunk) { return std::min<size_t>(kCopyChunk, size - chunk * kCopyChunk); };
  const auto placeOf = [&](size_t chunk) { return bounce.bytes() + chunk % kInFlight * kCopyChunk; };
  // A chunk's turn: what its place held before is through; the host's half of its copy; the executor's half.
  for (size_t turn = 0; turn < chunks + kInFlight; ++turn) {
    if (turn >= kInFlight && turn - kInFlight < chunks) {
      const size_t before = turn - kInFlight;
      device.wait(bounce.busy[before % kInFlight]);
      require(device.surface());
      if (!toDevice) {
        std::memcpy(const_cast<char*>(dst.host) + before * kCopyChunk, placeOf(before), bytesOf(before));
      }
    }
    if (turn < chunks) {
      if (toDevice) {
        std::memcpy(placeOf(turn), src.host + turn * kCopyChunk, bytesOf(turn));
      }
      const uint64_t ours = *pinned.offsetOf(placeOf(turn), bytesOf(turn));
      const uint64_t theirs = (toDevice ? dst.at : src.at) + turn * kCopyChunk;
      const CopyFrame frame{
          .toWhere = toDevice ? Where::Device : Where::Pinned,
          .fromWhere = toDevice ? Where::Pinned : Where::Device,
          .to = toDevice ? theirs : ours,
          .from = toDevice ? ours : theirs,
          .size = bytesOf(turn)};
      bounce.busy[turn % kInFlight] = device.submit(stream, handle, Kind::Copy, frame);
      device.hurry(device.endOf(stream, handle).lane); // The point of chunks is that both sides work at once.
    }
  }
}

} // namespace openreg::process
