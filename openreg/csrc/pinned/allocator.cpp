// The allocator of pinned memory: PyTorch's cache over the driver's orMallocHost.
#include "device/device.h"
#include "device/error.h"
// LITERALINCLUDE START: PINNED KEPT
#include "graph/capture.h"
#include "graph/capture_mode.h"
#include "pinned/pinned.h"
// LITERALINCLUDE END: PINNED KEPT

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>

// LITERALINCLUDE START: PINNED KEPT
#include <map>
#include <stdexcept>
// LITERALINCLUDE END: PINNED KEPT
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
    // LITERALINCLUDE START: PINNED KEPT
    freePostponed();
    // LITERALINCLUDE END: PINNED KEPT
    return HostCache::allocate(size);
  }

  // Called by deleters: what a forked child has inherited is not its own to free.
  void free(void* context) override {
    if (!inBadFork()) {
      // LITERALINCLUDE START: PINNED KEPT
      if (freeLater(static_cast<Block*>(context))) {
        return;
      }
      // LITERALINCLUDE END: PINNED KEPT
      HostCache::free(context);
    }
  }

  // LITERALINCLUDE START: PINNED KEPT
  /// One more graph copies from or to an allocation.
  void keep(const void* base) {
    const std::lock_guard lock(laterMutex_);
    kept_[base].graphs += 1;
    anyLater_.store(true, std::memory_order_relaxed);
  }

  /// One less, which was launched on these streams. Where its tensor has died meanwhile, the last one frees it.
  void letGo(const void* base, const std::vector<c10::Stream>& streams) {
    Block* freed = nullptr;
    {
      const std::lock_guard lock(laterMutex_);
      const auto found = kept_.find(base);
      found->second.graphs -= 1;
      found->second.streams.insert(found->second.streams.end(), streams.begin(), streams.end());
      if (found->second.graphs > 0) {
        return;
      }
      freed = found->second.freed;
      for (const auto& stream : found->second.streams) {
        try {
          (void)record_event(const_cast<void*>(base), freed, stream);
        } catch (const std::out_of_range&) {
          break; // pinned without this allocator: orFreeHost waits for copies
        }
      }
      kept_.erase(found);
      anyLater_.store(!kept_.empty() || !postponed_.empty(), std::memory_order_relaxed);
    }
    if (freed != nullptr) {
      free(freed);
    }
  }

  // LITERALINCLUDE END: PINNED KEPT
 private:
  // LITERALINCLUDE START: PINNED KEPT
  struct Kept {
    int graphs = 0;
    Block* freed = nullptr;           // by its tensor
    std::vector<c10::Stream> streams; // on which graphs were launched that have copied it
  };

  // A graph that can be replayed copies it, or the stream that uses it captures: an event that is recorded there now
  // would be a point of the graph, and tell nothing about the work before.
  bool freeLater(Block* block) {
    if (!anyCapture() && !anyLater_.load(std::memory_order_relaxed)) {
      return false;
    }
    const std::lock_guard lock(laterMutex_);
    if (const auto found = kept_.find(block->ptr_); found != kept_.end()) {
      found->second.freed = block;
      return true;
    }
    const std::lock_guard blockLock(block->mutex_);
    const bool inCapture =
        std::any_of(block->streams_.begin(), block->streams_.end(), [](const auto& it) { return captureId(it) != 0; });
    if (inCapture) {
      postponed_.push_back(block);
      anyLater_.store(true, std::memory_order_relaxed);
    }
    return inCapture;
  }

  void freePostponed() {
    if (anyCapture() || !anyLater_.load(std::memory_order_relaxed)) {
      return;
    }
    std::vector<Block*> blocks;
    {
      const std::lock_guard lock(laterMutex_);
      blocks.swap(postponed_);
      anyLater_.store(!kept_.empty(), std::memory_order_relaxed);
    }
    for (auto* block : blocks) {
      free(block);
    }
  }

  // LITERALINCLUDE END: PINNED KEPT
  void allocate_host_memory(size_t size, void** ptr) override {
    const c10::DeviceGuard guard({kDeviceType, awakeDevice()});
    const auto start = std::chrono::steady_clock::now();
    // LITERALINCLUDE START: PINNED KEPT
    const RelaxedCaptureMode relaxed;
    // LITERALINCLUDE END: PINNED KEPT
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
    // LITERALINCLUDE START: PINNED KEPT
    const RelaxedCaptureMode relaxed;
    // LITERALINCLUDE END: PINNED KEPT
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
  // LITERALINCLUDE START: PINNED KEPT

  std::mutex laterMutex_;
  std::map<const void*, Kept> kept_;   // by first address
  std::vector<Block*> postponed_;      // until no capture is under way
  std::atomic<bool> anyLater_ = false; // whether there are any of both
  // LITERALINCLUDE END: PINNED KEPT
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

// LITERALINCLUDE START: PINNED KEPT
void keepPinned(const void* base) {
  instance().impl_->keep(base);
}

// NOLINTNEXTLINE(bugprone-exception-escape): it frees, and a deleter can't throw either
void letGoPinned(const void* base, const std::vector<c10::Stream>& streams) noexcept {
  instance().impl_->letGo(base, streams);
}
// LITERALINCLUDE END: PINNED KEPT

} // namespace openreg
