// The memory of one device: blocks for tensors, and back.
#include "memory/device_memory.h"

#include "device/device.h"
#include "device/error.h"
// LITERALINCLUDE START: PRIVATE POOLS USED
#include "graph/capture.h"
#include "graph/capture_mode.h"
// LITERALINCLUDE END: PRIVATE POOLS USED
#include "memory/config.h"

#include <algorithm>
#include <memory>

namespace openreg {
namespace {

// LITERALINCLUDE START: POISON
// In the order of the block's stream, so that work queued before it still finds the contents. Hold no lock: where a
// queue is full, whoever submits waits.
void poison(const Block& block) {
  constexpr int kPoison = 0xCB; // the simulator's, too
  // LITERALINCLUDE START: FREE IN A CAPTURE
  if (captureId(block.pool->stream) != 0) {
    return; // the graph would fill it again at each replay, when it is somebody else's
  }
  // LITERALINCLUDE END: FREE IN A CAPTURE
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
  // LITERALINCLUDE START: FREE IN A CAPTURE
  endPostponed();
  // LITERALINCLUDE END: FREE IN A CAPTURE
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
  // LITERALINCLUDE START: PRIVATE POOLS USED
  const RelaxedCaptureMode relaxed;
  // LITERALINCLUDE END: PRIVATE POOLS USED
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
  // LITERALINCLUDE START: PRIVATE POOLS USED
  if (auto* own = privatePool(stream, small); own != nullptr) {
    return *own;
  }
  // LITERALINCLUDE END: PRIVATE POOLS USED
  return pools_.try_emplace({stream, small}, *this, stream, small, stats_).first->second;
}
// LITERALINCLUDE END: ALLOCATE BLOCK

// LITERALINCLUDE START: FREE BLOCK
namespace {

// The events are there, recordStream() has made them. A device that refuses to record has failed: it does no more work,
// so that there is nothing to wait for. On a driver without events the host waits.
void recordUses(Block& block) {
  std::erase_if(block.uses, [](const Use& use) {
    if (use.event == nullptr) {
      (void)orDeviceSynchronize(use.device);
      return true;
    }
    const bool refused = orEventRecord(use.event, use.stream) != orSuccess;
    return refused && orEventDestroy(use.event) == orSuccess;
  });
}

} // namespace

// poison() asks settings that were read, and may have thrown, when the block was made.
void DeviceMemory::free(Block* block) noexcept { // NOLINT(bugprone-exception-escape)
  // LITERALINCLUDE START: NOTED
  const Origin origin(RecordContext::ALL);
  // LITERALINCLUDE END: NOTED
  report(block->data, -static_cast<int64_t>(block->size));
  // LITERALINCLUDE START: FREE IN A CAPTURE
  if (anyCapture() && postpone(block)) {
    return; // an event that is recorded now may become part of a graph, and can't be asked
  }
  // LITERALINCLUDE END: FREE IN A CAPTURE
  recordUses(*block);
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
// LITERALINCLUDE START: FREE IN A CAPTURE

void DeviceMemory::endPostponed() {
  for (auto* block : takePostponed()) {
    recordUses(*block); // without the lock: where a queue is full, whoever submits waits
    const std::lock_guard lock(mutex_);
    if (block->uses.empty()) {
      reuse(block);
    } else {
      pending_.add(block);
    }
  }
}
// LITERALINCLUDE END: FREE IN A CAPTURE
// LITERALINCLUDE END: FREE BLOCK

// LITERALINCLUDE START: GIVE BACK
void DeviceMemory::emptyCache() {
  // LITERALINCLUDE START: NOTED
  const Origin origin(RecordContext::ALL);
  // LITERALINCLUDE END: NOTED
  bool released = false;
  auto error = orSuccess;
  // LITERALINCLUDE START: FREE IN A CAPTURE
  endPostponed();
  // LITERALINCLUDE END: FREE IN A CAPTURE
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
  // LITERALINCLUDE START: PRIVATE POOLS USED
  takeSegmentsWithoutGraph(segments);
  // LITERALINCLUDE END: PRIVATE POOLS USED
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
  // LITERALINCLUDE START: PRIVATE POOLS USED
  const RelaxedCaptureMode relaxed;
  // LITERALINCLUDE END: PRIVATE POOLS USED
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
  // LITERALINCLUDE START: PRIVATE POOLS USED
  privatePools_.clear();
  captures_.clear();
  // LITERALINCLUDE END: PRIVATE POOLS USED
  stats_ = {};
  // LITERALINCLUDE START: NOTED
  history_.clear();
  // LITERALINCLUDE END: NOTED
  return true;
}
// LITERALINCLUDE END: CLEAR MEMORY

} // namespace openreg
