// The allocator of pinned memory: PyTorch's cache over the driver's orMallocHost.
#include "device/device.h"
#include "device/error.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>

#include <chrono>

namespace openreg {
namespace {

// LITERALINCLUDE START: AWAKE DEVICE
// Pinned memory serves all devices, but the driver initialises the current one for it. A thread that has set no device,
// such as DataLoader's, should not wake device 0 in a process that works on device 1.
c10::DeviceIndex awakeDevice() {
  const auto current = currentDevice();
  for (c10::DeviceIndex i = 0; i < deviceCount(); ++i) {
    const auto device = static_cast<c10::DeviceIndex>((current + i) % deviceCount());
    int awake = 0;
    if (orDeviceGetState(&awake, device) == orSuccess && awake != 0) {
      return device;
    }
  }
  return current;
}
// LITERALINCLUDE END: AWAKE DEVICE

int64_t microsecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
}

// LITERALINCLUDE START: PINNED CACHE
using HostCache = at::CachingHostAllocatorImpl<c10::Stream, c10::Event>;
using Block = at::HostBlock<c10::Stream>;

// The cache is PyTorch's: blocks of powers of two, kept when they are freed, and given out again when the events that
// are recorded on all streams that used them are complete. It needs to be told how this driver does four things.
class PinnedCache final : public HostCache {
 public:
  std::pair<void*, void*> allocate(size_t size) override {
    (void)currentDevice(); // fails in a forked child, where a lock of the cache may be held by a thread that is gone
    return HostCache::allocate(size);
  }

  // Called by deleters: what a forked child has inherited is not its own to free.
  void free(void* context) override {
    if (!inBadFork()) {
      HostCache::free(context);
    }
  }

 private:
  void allocate_host_memory(size_t size, void** ptr) override {
    const c10::DeviceGuard guard({kDeviceType, awakeDevice()});
    const auto start = std::chrono::steady_clock::now();
    auto error = orMallocHost(ptr, size);
    if (error == orErrorMemoryAllocation) {
      (void)orGetLastError();
      empty_cache(); // blocks of other sizes that nobody uses
      error = orMallocHost(ptr, size);
    }
    check(error);
    const std::lock_guard<std::mutex> lock(stats_.timing_mutex_);
    stats_.host_alloc_time.increase(microsecondsSince(start));
  }

  void free_block(Block* block) override {
    const auto start = std::chrono::steady_clock::now();
    (void)orFreeHost(block->ptr_); // may run in a deleter, which must not throw
    const std::lock_guard<std::mutex> lock(stats_.timing_mutex_);
    stats_.host_free_time.increase(microsecondsSince(start));
  }

  // Runs in deleters, too.
  void record_stream(std::optional<std::vector<c10::Event>>& events, c10::Stream stream) override {
    c10::Event event(kDeviceType);
    try {
      event.record(stream);
    } catch (const c10::Error&) {
      // The driver has no event left, or the device has failed. One waits in the first case and not in the second, and
      // an event that was never recorded counts as complete.
      (void)orDeviceSynchronize(stream.device_index());
    }
    events->push_back(std::move(event));
  }

  // Not c10::Event::query, whose exception would lose the block. A device that has failed copies nothing any more.
  bool query_event(c10::Event& event) override {
    return event.eventId() == nullptr || orEventQuery(static_cast<orEvent_t>(event.eventId())) != orErrorNotReady;
  }
};
// LITERALINCLUDE END: PINNED CACHE

// LITERALINCLUDE START: REGISTER PINNED ALLOCATOR
void release(void* context);
using PinnedAllocator = at::CachingHostAllocatorInterface<PinnedCache, &release>;

// DECLARE_HOST_ALLOCATOR would make a static object of it. This one is never destroyed: tensors that live as long as
// the process, and threads that still pin batches while it ends, use it after static objects are gone.
PinnedAllocator& instance() {
  static auto* object = new PinnedAllocator;
  return *object;
}

void release(void* context) {
  instance().free(context);
}

REGISTER_HOST_ALLOCATOR(kDeviceType, &instance());
// LITERALINCLUDE END: REGISTER PINNED ALLOCATOR

} // namespace
} // namespace openreg
