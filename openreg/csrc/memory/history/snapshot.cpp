// The part of DeviceMemory that keeps its history and shows its blocks.
#include "memory/history/snapshot.h"

#include "device/device.h"
#include "memory/device_memory.h"
#include "memory/history/observers.h"
#include "stream/handle.h"

#include <algorithm>

namespace openreg {
namespace {

using c10::CachingDeviceAllocator::BlockInfo;
using c10::CachingDeviceAllocator::SegmentInfo;

// LITERALINCLUDE START: SEGMENT INFO
SegmentInfo segmentInfo(const Block& first, c10::DeviceIndex device, void* stream) {
  SegmentInfo segment;
  segment.device = device;
  segment.address = reinterpret_cast<size_t>(first.data);
  segment.stream = stream;
  segment.is_large = !first.small;
  for (const auto* block = &first; block != nullptr; block = block->after) {
    BlockInfo info;
    info.size = block->size;
    info.allocated = block->last == TraceEntry::ALLOC;
    info.active = block->last != TraceEntry::FREE_COMPLETED; // other streams may still be at work on it
    info.requested_size = info.active ? block->requested : 0;
    info.context_when_allocated = block->origin;
    segment.total_size += info.size;
    segment.requested_size += info.requested_size;
    segment.allocated_size += info.allocated ? info.size : 0;
    segment.active_size += info.active ? info.size : 0;
    segment.blocks.push_back(std::move(info));
  }
  return segment;
}
// LITERALINCLUDE END: SEGMENT INFO

} // namespace

// LITERALINCLUDE START: NOTE
// The lock is held. Where no stack was walked, the one of the block's allocation says which block it is.
void DeviceMemory::note(Block& block, TraceEntry::Action action) {
  block.last = action;
  auto context = Origin::here();
  if (action == TraceEntry::ALLOC) {
    block.origin = context;
  } else if (context == nullptr) {
    context = block.origin;
  }
  history_.record(action, reinterpret_cast<size_t>(block.data), block.requested, block.pool->stream, context);
  if (action == TraceEntry::FREE_COMPLETED) {
    block.origin = nullptr;
  }
}

void DeviceMemory::noteSegment(TraceEntry::Action action, const void* data, size_t size, orStream_t stream) {
  history_.record(action, reinterpret_cast<size_t>(data), size, stream, Origin::here());
}

// Holds no lock while it asks the device, nor while it runs other people's code.
void DeviceMemory::noteShortage(const Shortage& shortage, orStream_t stream) {
  size_t free = 0;
  size_t total = 0;
  (void)orMemGetInfo(&free, &total, device_); // zeros, if the device fails in this moment
  {
    const std::lock_guard lock(mutex_);
    history_.record(TraceEntry::OOM, free, shortage.asked, stream, Origin::here());
  }
  callOutOfMemoryObservers(shortage, free);
}
// LITERALINCLUDE END: NOTE

// LITERALINCLUDE START: SNAPSHOT
void DeviceMemory::snapshot(MemorySnapshot& all) {
  const auto standard = streamHandle(c10::Stream(c10::Stream::DEFAULT, {kDeviceType, device_}));
  // CUDA's default stream has the handle 0, and what reads a snapshot takes 0 for it.
  const auto shown = [standard](void* stream) { return stream == standard ? nullptr : stream; };
  const auto begin = all.segments.size();
  std::unique_lock lock(mutex_);
  auto& history = all.histories.emplace_back(history_.entries());
  for (const auto& [key, pool] : pools_) {
    for (const auto& [first, origin] : pool.segments()) {
      all.segments.push_back(segmentInfo(*first, device_, shown(pool.stream)));
      all.segments.back().context_when_allocated = origin;
    }
  }
  // LITERALINCLUDE START: PRIVATE SEGMENTS
  for (const auto& [id, shared] : privatePools_) {
    for (const auto& [key, pool] : shared.pools) {
      for (const auto& [first, origin] : pool.segments()) {
        all.segments.push_back(segmentInfo(*first, device_, shown(pool.stream)));
        all.segments.back().context_when_allocated = origin;
        all.segments.back().owner_private_pool_id = id;
      }
    }
  }
  // LITERALINCLUDE END: PRIVATE SEGMENTS
  history_.record(TraceEntry::SNAPSHOT, 0, current(stats_.active_bytes), standard, nullptr);
  lock.unlock();
  for (auto& entry : history) {
    entry.stream_ = shown(entry.stream_);
  }
  std::sort(all.segments.begin() + static_cast<ptrdiff_t>(begin), all.segments.end(), [](const auto& a, const auto& b) {
    return a.address < b.address;
  });
}

void DeviceMemory::clearHistory() {
  const std::lock_guard lock(mutex_);
  history_.clear();
}
// LITERALINCLUDE END: SNAPSHOT

} // namespace openreg
