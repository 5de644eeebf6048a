// The ends of a copy, and copies through the staging area.
#include "copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "host.h"

namespace openreg::process {

namespace {

constexpr size_t kMaxInFlight = 4; ///< Chunks of one copy: one side fills the next while the other empties the last.

} // namespace

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

orError_t copyStaged(Stream& stream, uint64_t handle, const Place& dst, const Place& src, size_t size) {
  Device& device = stream.device();
  orError_t error = orSuccess;
  const auto executor = device.executor(error);
  if (executor == nullptr) {
    return error;
  }
  const bool toDevice = src.pageable;
  const size_t chunks = (size + kStagingChunk - 1) / kStagingChunk;
  const Staging::Lease lease(executor->staging(), std::min(chunks, kMaxInFlight));
  std::array<Point, kMaxInFlight> done{};
  const auto bytesOf = [&](size_t chunk) { return std::min<size_t>(kStagingChunk, size - chunk * kStagingChunk); };
  const auto staged = [&](size_t chunk) {
    return reinterpret_cast<char*>(executor->channel().staging + lease.offset(chunk % lease.count()));
  };
  const auto post = [&](size_t chunk) {
    CopyFrame frame;
    frame.toWhere = toDevice ? Where::Device : Where::Staging;
    frame.fromWhere = toDevice ? Where::Staging : Where::Device;
    const uint64_t offset = lease.offset(chunk % lease.count());
    frame.to = toDevice ? dst.at + chunk * kStagingChunk : offset;
    frame.from = toDevice ? offset : src.at + chunk * kStagingChunk;
    frame.size = bytesOf(chunk);
    const orError_t failed = device.submit(stream, handle, Kind::Copy, frame);
    if (failed != orSuccess) {
      return failed;
    }
    Point& end = done[chunk % lease.count()];
    const orError_t unmarked = device.mark(stream, handle, end);
    device.hurry(end.lane); // The point of chunks is that both sides work at once.
    return unmarked;
  };
  // A chunk's turn: what it held before is through; the host's half of its copy; the executor's half.
  for (size_t turn = 0; turn < chunks + (toDevice ? 0 : lease.count()) && error == orSuccess; ++turn) {
    const Point& before = done[turn % lease.count()];
    if (turn >= lease.count()) {
      device.wait(before);
      if ((error = device.surface()) != orSuccess) {
        break;
      }
      if (!toDevice && turn - lease.count() < chunks) {
        const size_t ready = turn - lease.count();
        std::memcpy(const_cast<char*>(dst.host) + ready * kStagingChunk, staged(ready), bytesOf(ready));
      }
    }
    if (turn < chunks) {
      if (toDevice) {
        std::memcpy(staged(turn), src.host + turn * kStagingChunk, bytesOf(turn));
      }
      error = post(turn);
    }
  }
  for (size_t i = 0; i < std::min(chunks, lease.count()); ++i) {
    device.wait(done[i]); // Also after an error: the executor may still be using the chunks.
  }
  return error != orSuccess ? error : device.surface();
}

} // namespace openreg::process
