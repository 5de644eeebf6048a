// The memory of one device: blocks for tensors, and back.
#include "memory/device_memory.h"

#include "device/device.h"
#include "device/error.h"
#include "memory/config.h"
#include "stream/event.h"

namespace openreg {
namespace {

// LITERALINCLUDE START: POISON
// In the order of the block's stream, so that work queued before it still finds the contents. Hold no lock: a full
// queue makes whoever submits wait.
void poison(const Block& block) {
  constexpr int kPoison = 0xCB; // the simulator's, too
  if (poisons()) {
    (void)orMemsetAsync(block.data, kPoison, block.size, block.stream); // fails only where the device has failed
  }
}
// LITERALINCLUDE END: POISON

} // namespace

DeviceMemory::DeviceMemory(c10::DeviceIndex device)
    : device_(device), total_(deviceProperties(device).totalGlobalMem) {}

// LITERALINCLUDE START: ALLOCATE BLOCK
Block* DeviceMemory::allocate(size_t requested, orStream_t stream) {
  const auto size = roundSize(requested);
  const bool small = isSmall(size);
  std::unique_lock lock(mutex_);
  reusePassed(pending_, lock);
  Block* block = pool(small).take(stream, size);
  if (block == nullptr) {
    collectGarbage(segmentSize(size), lock);
    block = grow(size, segmentSize(size), stream);
  }
  if (block == nullptr) {
    stats_.num_alloc_retries += 1;
    lock.unlock();
    emptyCache();
    lock.lock();
    block = pool(small).take(stream, size); // another thread may have freed one meanwhile
    block = block != nullptr ? block : grow(size, segmentSize(size), stream);
    block = block != nullptr ? block : grow(size, size, stream); // what fits does not fail for being rounded up
  }
  if (block == nullptr) {
    stats_.num_ooms += 1;
    const auto why = shortage(requested);
    lock.unlock();
    throwOutOfMemory(why);
  }
  block->requested = requested;
  countAllocated(stats_, *block, kMore);
  countActive(stats_, *block, kMore);
  lock.unlock();
  poison(*block);
  report(block->data, static_cast<int64_t>(block->size));
  return block;
}

Block* DeviceMemory::grow(size_t size, size_t segment, orStream_t stream) {
  const auto reserved = current(stats_.reserved_bytes);
  if (reserved > limit() || segment > limit() - reserved) {
    return nullptr;
  }
  void* data = nullptr;
  if (const auto error = orMalloc(&data, segment); error == orErrorMemoryAllocation) {
    (void)orGetLastError(); // not an error yet: the caller makes room
    return nullptr;
  } else {
    check(error);
  }
  auto* block = new Block{this, stream, isSmall(size), static_cast<char*>(data), segment};
  countSegment(stats_, *block, kMore);
  pool(block->small).cut(block, size);
  return block;
}
// LITERALINCLUDE END: ALLOCATE BLOCK

// LITERALINCLUDE START: FREE BLOCK
void DeviceMemory::free(Block* block) noexcept {
  report(block->data, -static_cast<int64_t>(block->size));
  // recordStream() has made the events, so nothing can be missing here. A device that refuses to record has failed: it
  // does no more work, and there is nothing to wait for.
  std::erase_if(block->uses, [](const Use& use) {
    const bool refused = orEventRecord(use.event, use.stream) != orSuccess;
    if (refused) {
      (void)orEventDestroy(use.event);
    }
    return refused;
  });
  const bool pending = !block->uses.empty();
  if (!pending) {
    poison(*block);
  }
  const std::lock_guard lock(mutex_);
  countAllocated(stats_, *block, kLess);
  if (pending) {
    pending_.add(block);
  } else {
    reuse(block);
  }
}

void DeviceMemory::reuse(Block* block) {
  countActive(stats_, *block, kLess);
  block->freedAt = ++clock_;
  pool(block->small).put(block);
}

void DeviceMemory::reusePassed(Pending& pending, std::unique_lock<std::mutex>& lock) {
  if (pending.empty()) {
    return;
  }
  const auto passed = pending.takePassed();
  lock.unlock();
  for (const auto* block : passed) {
    poison(*block);
  }
  lock.lock();
  for (auto* block : passed) {
    reuse(block);
  }
}
// LITERALINCLUDE END: FREE BLOCK

// LITERALINCLUDE START: RECORD STREAM
void DeviceMemory::recordStream(Block* block, orStream_t stream, c10::DeviceIndex device) {
  const std::lock_guard lock(mutex_);
  const auto known = [stream](const Use& use) { return use.stream == stream; };
  if (stream != block->stream && std::ranges::none_of(block->uses, known)) {
    block->uses.reserve(block->uses.size() + 1); // what can throw comes before there is an event to lose
    block->uses.push_back({stream, createEvent(device, orEventDisableTiming)});
  }
}
// LITERALINCLUDE END: RECORD STREAM

// Hold no lock: the profiler is somebody else's code.
void DeviceMemory::report(void* data, int64_t change) const {
  if (c10::memoryProfilingEnabled()) {
    const auto now = stats();
    c10::reportMemoryUsageToProfiler(
        data, change, current(now.allocated_bytes), current(now.reserved_bytes), {kDeviceType, device_});
  }
}

} // namespace openreg
