// The memory of one device: blocks for tensors, and back.
#include "memory/device_memory.h"

#include "device/device.h"
#include "device/error.h"
#include "memory/config.h"
#include "stream/event.h"

#include <algorithm>
#include <memory>

namespace openreg {
namespace {

using OwnedEvent = std::unique_ptr<std::remove_pointer_t<orEvent_t>, decltype(&orEventDestroy)>;

// LITERALINCLUDE START: POISON
// In the order of the block's stream, so that work queued before it still finds the contents. Hold no lock: where a
// queue is full, whoever submits waits.
void poison(const Block& block) {
  constexpr int kPoison = 0xCB; // the simulator's, too
  if (poisons()) {
    (void)orMemsetAsync(block.data, kPoison, block.size, block.pool->stream); // fails only if the device has failed
  }
}
// LITERALINCLUDE END: POISON

} // namespace

DeviceMemory::DeviceMemory(c10::DeviceIndex device)
    : device_(device), total_(deviceProperties(device).totalGlobalMem) {}

// LITERALINCLUDE START: ALLOCATE BLOCK
Block* DeviceMemory::allocate(size_t requested, orStream_t stream) {
  // LITERALINCLUDE START: NOTED
  const Origin origin(RecordContext::STATE);
  // LITERALINCLUDE END: NOTED
  const auto size = roundSize(requested);
  std::unique_lock lock(mutex_);
  reusePassed(pending_);
  auto& from = pool(stream, isSmall(size));
  auto* block = from.take(size);
  auto error = block != nullptr ? orSuccess : grow(from, segmentSize(size), size, block);
  if (error == orErrorMemoryAllocation) {
    stats_.num_alloc_retries += 1;
    lock.unlock();
    const std::lock_guard releasing(release_);
    lock.lock();
    error = makeRoom(stream, size, block, lock);
  }
  if (error == orErrorMemoryAllocation) {
    stats_.num_ooms += 1;
    const auto why = shortage(requested);
    lock.unlock();
    // LITERALINCLUDE START: NOTED
    noteShortage(why, stream);
    // LITERALINCLUDE END: NOTED
    throwOutOfMemory(why);
  }
  if (error != orSuccess) {
    lock.unlock();
    throwError(error);
  }
  block->requested = requested;
  countAllocated(stats_, *block, kMore);
  countActive(stats_, *block, kMore);
  // LITERALINCLUDE START: NOTED
  note(*block, TraceEntry::ALLOC);
  // LITERALINCLUDE END: NOTED
  lock.unlock();
  poison(*block);
  report(block->data, static_cast<int64_t>(block->size));
  return block;
}

// What is given back here another thread may take before this one, and what others free meanwhile comes into the cache.
// So this one gives up only if, under one lock, nothing is cached that could go and the driver has nothing.
orError_t DeviceMemory::makeRoom(orStream_t stream, size_t size, Block*& block, std::unique_lock<std::mutex>& lock) {
  bool released = true;
  while (released) {
    auto error = release(released, lock);
    if (error != orSuccess) {
      return error;
    }
    auto& from = pool(stream, isSmall(size)); // a reset may have ended the one that there was
    block = from.take(size);
    error = block != nullptr ? orSuccess : grow(from, segmentSize(size), size, block);
    error = error != orErrorMemoryAllocation ? error : grow(from, size, size, block); // no need to round up
    if (error != orErrorMemoryAllocation) {
      return error;
    }
  }
  return orErrorMemoryAllocation;
}

orError_t DeviceMemory::grow(Pool& pool, size_t segment, size_t size, Block*& block) {
  const auto reserved = current(stats_.reserved_bytes);
  if (reserved > limit() || segment > limit() - reserved) {
    return orErrorMemoryAllocation;
  }
  void* data = nullptr;
  const auto error = orMalloc(&data, segment);
  if (error == orSuccess) {
    // LITERALINCLUDE START: NOTED
    noteSegment(TraceEntry::SEGMENT_ALLOC, data, segment, pool.stream);
    // LITERALINCLUDE END: NOTED
    block = pool.takeFrom(static_cast<char*>(data), segment, size);
  } else if (error == orErrorMemoryAllocation) {
    (void)orGetLastError(); // not an error yet: the caller makes room
  }
  return error;
}

Pool& DeviceMemory::pool(orStream_t stream, bool small) {
  return pools_.try_emplace({stream, small}, *this, stream, small, stats_).first->second;
}
// LITERALINCLUDE END: ALLOCATE BLOCK

// LITERALINCLUDE START: FREE BLOCK
// poison() asks settings that were read, and may have thrown, when the block was made.
void DeviceMemory::free(Block* block) noexcept { // NOLINT(bugprone-exception-escape)
  // LITERALINCLUDE START: NOTED
  const Origin origin(RecordContext::ALL);
  // LITERALINCLUDE END: NOTED
  report(block->data, -static_cast<int64_t>(block->size));
  // The events are there, recordStream() has made them. A device that refuses to record has failed: it does no more
  // work, so that there is nothing to wait for. On a driver without events the host waits.
  std::erase_if(block->uses, [](const Use& use) {
    if (use.event == nullptr) {
      (void)orDeviceSynchronize(use.device);
      return true;
    }
    const bool refused = orEventRecord(use.event, use.stream) != orSuccess;
    return refused && orEventDestroy(use.event) == orSuccess;
  });
  const bool inUse = !block->uses.empty();
  if (!inUse) {
    poison(*block);
  }
  const std::lock_guard lock(mutex_);
  countAllocated(stats_, *block, kLess);
  // LITERALINCLUDE START: NOTED
  note(*block, TraceEntry::FREE_REQUESTED);
  // LITERALINCLUDE END: NOTED
  if (inUse) {
    pending_.add(block);
  } else {
    reuse(block);
  }
}

void DeviceMemory::reuse(Block* block) {
  countActive(stats_, *block, kLess);
  // LITERALINCLUDE START: NOTED
  note(*block, TraceEntry::FREE_COMPLETED);
  // LITERALINCLUDE END: NOTED
  block->pool->put(block);
}

void DeviceMemory::reusePassed(Pending& pending) {
  std::ranges::for_each(pending.takePassed(), [this](Block* block) { reuse(block); });
}
// LITERALINCLUDE END: FREE BLOCK

// LITERALINCLUDE START: RECORD STREAM
void DeviceMemory::recordStream(Block* block, orStream_t stream, c10::DeviceIndex device) {
  const auto known = [&] {
    const auto recorded = [stream](const Use& use) { return use.stream == stream; };
    return stream == block->pool->stream || std::ranges::any_of(block->uses, recorded);
  };
  std::unique_lock lock(mutex_);
  if (known()) {
    return;
  }
  lock.unlock(); // creating an event may fail
  OwnedEvent event(createEvent(device, orEventDisableTiming), &orEventDestroy);
  lock.lock();
  if (!known()) { // another thread may have been faster
    // What can throw comes before there is nobody to destroy the event.
    block->uses.reserve(block->uses.size() + 1);
    block->uses.push_back({stream, event.release(), device});
  }
  lock.unlock(); // before the event goes
}
// LITERALINCLUDE END: RECORD STREAM

// LITERALINCLUDE START: GIVE BACK
void DeviceMemory::emptyCache() {
  // LITERALINCLUDE START: NOTED
  const Origin origin(RecordContext::ALL);
  // LITERALINCLUDE END: NOTED
  bool released = false;
  auto error = orSuccess;
  {
    const std::lock_guard releasing(release_);
    std::unique_lock lock(mutex_);
    error = release(released, lock);
  }
  check(error);
}

orError_t DeviceMemory::release(bool& released, std::unique_lock<std::mutex>& lock) {
  auto waiting = std::exchange(pending_, {});
  released = !waiting.empty();
  if (released) {
    stats_.num_sync_all_streams += 1;
    lock.unlock();
    waiting.wait();
    lock.lock();
    reusePassed(waiting);
  }
  std::vector<Block*> segments;
  for (auto& [key, pool] : pools_) {
    std::ranges::copy(pool.takeSegments(), std::back_inserter(segments));
  }
  if (segments.empty()) {
    return orSuccess;
  }
  released = true;
  // LITERALINCLUDE START: NOTED
  for (const auto* segment : segments) { // before the driver has them, and can give them to another thread
    noteSegment(TraceEntry::SEGMENT_FREE, segment->data, segment->size, segment->pool->stream);
  }
  // LITERALINCLUDE END: NOTED
  lock.unlock();
  // Nobody else knows these segments now. A thread that finds no memory meanwhile waits for release_ before it gives
  // up.
  auto error = orSuccess;
  for (const auto* segment : segments) {
    const auto result = orFree(segment->data); // waits for the device
    error = result == orSuccess ? error : result;
    delete segment;
  }
  lock.lock();
  return error;
}
// LITERALINCLUDE END: GIVE BACK

// LITERALINCLUDE START: CLEAR MEMORY
bool DeviceMemory::clear() {
  emptyCache(); // the driver lets pointers from before the reset go without a word
  const std::lock_guard releasing(release_);
  const std::lock_guard lock(mutex_);
  if (current(stats_.reserved_bytes) > 0) {
    return false;
  }
  pools_.clear(); // their streams are gone
  stats_ = {};
  // LITERALINCLUDE START: NOTED
  history_.clear();
  // LITERALINCLUDE END: NOTED
  return true;
}
// LITERALINCLUDE END: CLEAR MEMORY

void DeviceMemory::setFraction(double fraction) {
  const std::lock_guard lock(mutex_);
  fraction_ = fraction;
}

double DeviceMemory::fraction() const {
  const std::lock_guard lock(mutex_);
  return fraction_;
}

DeviceStats DeviceMemory::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void DeviceMemory::resetAccumulatedStats() {
  const std::lock_guard lock(mutex_);
  resetAccumulated(stats_);
}

void DeviceMemory::resetPeakStats() {
  const std::lock_guard lock(mutex_);
  resetPeaks(stats_);
}

Shortage DeviceMemory::shortage(size_t asked) const {
  const auto used = current(stats_.active_bytes);
  size_t largest = 0;
  for (const auto& [key, pool] : pools_) {
    largest = std::max(largest, pool.largest());
  }
  return {device_, asked, used, current(stats_.reserved_bytes) - used, largest, limit()};
}

// Hold no lock: the profiler is other people's code.
void DeviceMemory::report(const void* data, int64_t change) const {
  if (c10::memoryProfilingEnabled()) {
    const auto now = stats();
    c10::reportMemoryUsageToProfiler(
        const_cast<void*>(data), change, current(now.allocated_bytes), current(now.reserved_bytes),
        {kDeviceType, device_});
  }
}

} // namespace openreg
