// The caching allocator, as PyTorch asks for it.
#include "memory/caching_allocator.h"

#include "device/device.h"
#include "device/device_name.h"
#include "device/error.h"
#include "device/guard.h"
#include "device/reset.h"
// LITERALINCLUDE START: POOL SHARE FUNCTIONS
#include "graph/capture.h"
// LITERALINCLUDE END: POOL SHARE FUNCTIONS
#include "memory/allocator.h"
#include "memory/lives.h"
// LITERALINCLUDE START: POOL SHARE FUNCTIONS
#include "memory/pool_share.h"
// LITERALINCLUDE END: POOL SHARE FUNCTIONS
#include "memory/history/snapshot.h"
#include "stream/handle.h"

#include <c10/core/AllocatorConfig.h>

#include <algorithm>
#include <atomic>
#include <deque>

namespace openreg {
namespace {

std::atomic<bool> used = false;

std::deque<MemoryLives>& devices() {
  // Never destroyed: tensors that live as long as the process free their memory after static objects are gone.
  static auto& all = []() -> auto& {
    auto* made = new std::deque<MemoryLives>;
    for (c10::DeviceIndex device = 0; device < deviceCountEnsureNonZero(); ++device) {
      made->emplace_back(device);
    }
    used = true;
    return *made;
  }();
  return all;
}

// LITERALINCLUDE START: MEMORY OF
/// In a forked child this throws, before it can wait for a lock that a thread of the parent held.
DeviceMemory& memoryOf(c10::DeviceIndex device) {
  (void)currentDevice();
  return devices()[static_cast<size_t>(resolveIndex({kDeviceType, device}))].now();
}
// LITERALINCLUDE END: MEMORY OF

// LITERALINCLUDE START: FORGET MEMORY
const OnReset renewMemory([](c10::DeviceIndex device) {
  if (used) {
    devices()[static_cast<size_t>(device)].renew();
  }
});
// LITERALINCLUDE END: FORGET MEMORY

// LITERALINCLUDE START: CACHING ALLOCATOR
class CachingAllocator final : public c10::DeviceAllocator {
 public:
  /// Memory of the current device, for its current stream. The context is the block, so that freeing needs no look-up.
  c10::DataPtr allocate(size_t size) override {
    const auto device = currentDevice();
    if (size == 0) {
      return {nullptr, nullptr, &release, c10::Device(kDeviceType, device)};
    }
    Block* block = devices()[static_cast<size_t>(device)].now().allocate(size, currentStreamHandle(device));
    return {block->data, block, &release, c10::Device(kDeviceType, device)};
  }

  void copy_data(void* dst, const void* src, std::size_t size) const override {
    check(orMemcpyAsync(dst, src, size, orMemcpyDeviceToDevice, currentStreamHandle(currentDevice())));
  }

  bool is_simple_data_ptr(const c10::DataPtr& data) const override { return data.get_deleter() == &release; }

  bool initialized() override { return used; }

  void emptyCache(c10::MempoolId_t pool) override {
    TORCH_CHECK_NOT_IMPLEMENTED(
        pool == c10::MempoolId_t(0, 0), kDeviceName, ": emptyCache: expected no argument 'pool'");
    openreg::emptyCache();
  }

  void recordStream(const c10::DataPtr& data, c10::Stream stream) override { openreg::recordStream(data, stream); }

  DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    auto stats = memoryOf(device).stats();
    stats.max_split_size = static_cast<int64_t>(c10::CachingAllocator::AcceleratorAllocatorConfig::max_split_size());
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override { memoryOf(device).resetAccumulatedStats(); }
  void resetPeakStats(c10::DeviceIndex device) override { memoryOf(device).resetPeakStats(); }

  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    std::pair<size_t, size_t> info;
    check(orMemGetInfo(&info.first, &info.second, device));
    return info;
  }

 private:
  /// A forked child has no device: what it inherits is not its own to free, and the lock may be held for ever.
  static void release(void* context) noexcept {
    if (!inBadFork()) {
      auto* block = static_cast<Block*>(context);
      block->pool->memory.free(block);
    }
  }
};
// LITERALINCLUDE END: CACHING ALLOCATOR

CachingAllocator& instance() {
  static auto* object = new CachingAllocator;
  return *object;
}

REGISTER_ALLOCATOR(kDeviceType, &instance());

} // namespace

c10::Allocator* allocator() {
  return &instance();
}

// LITERALINCLUDE START: RECORD DATA
void recordStream(const c10::DataPtr& data, c10::Stream stream) {
  TORCH_CHECK_VALUE(
      stream.device_type() == kDeviceType, "record_stream: argument 'stream' is a stream of ", stream.device(),
      "; expected one of ", kDeviceName);
  if (data.get() == nullptr || !instance().is_simple_data_ptr(data)) {
    return;
  }
  auto* block = static_cast<Block*>(data.get_context());
  const auto device = data.device().index();
  TORCH_CHECK(
      &block->pool->memory == &devices()[static_cast<size_t>(device)].now(),
      "record_stream: argument 'self' is memory of ", data.device(), " from before reset_device(",
      static_cast<int>(device), "); expected memory that was allocated after it");
  block->pool->memory.recordStream(block, streamHandle(stream), stream.device_index());
}

void Guard::recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const {
  recordStream(data, stream);
}
// LITERALINCLUDE END: RECORD DATA

void setMemoryFraction(double fraction, c10::DeviceIndex device) {
  TORCH_CHECK_VALUE(
      fraction >= 0 && fraction <= 1, "set_per_process_memory_fraction: argument 'fraction' is ", fraction,
      "; expected a number from 0 to 1");
  memoryOf(device).setFraction(fraction);
}

double memoryFraction(c10::DeviceIndex device) {
  return memoryOf(device).fraction();
}

void emptyCache() {
  (void)currentDevice(); // throws in a forked child
  // LITERALINCLUDE START: POOL SHARE FUNCTIONS
  checkNotCapturing(currentDevice(), "empty_cache", "empty the cache before the capture, or after it");
  // LITERALINCLUDE END: POOL SHARE FUNCTIONS
  if (used) {
    for (auto& device : devices()) {
      device.emptyCache();
    }
  }
}

// LITERALINCLUDE START: POOL SHARE FUNCTIONS
PoolShare::PoolShare(c10::DeviceIndex device, c10::MempoolId_t id) : memory_(&memoryOf(device)), id_(id) {
  memory_->sharePool(id_);
}

PoolShare::~PoolShare() {
  if (!inBadFork()) { // there the lock may be held for ever
    memory_->leavePool(id_);
  }
}

void PoolShare::beginCapture(uint64_t capture) {
  capture_ = capture;
  memory_->beginCapture(capture, id_);
}

void PoolShare::endCapture() noexcept {
  memory_->endCapture(capture_);
}

// LITERALINCLUDE END: POOL SHARE FUNCTIONS
// LITERALINCLUDE START: MEMORY SNAPSHOT
void recordMemoryHistory(const HistorySettings& settings, bool forget) {
  setHistory(settings);
  if (used && !inBadFork() && (forget || !settings.enabled)) {
    std::ranges::for_each(devices(), [](MemoryLives& device) { device.now().clearHistory(); });
  }
}

MemorySnapshot memorySnapshot() {
  MemorySnapshot all;
  for (c10::DeviceIndex device = 0; device < deviceCount(); ++device) {
    memoryOf(device).snapshot(all);
  }
  return all;
}
// LITERALINCLUDE END: MEMORY SNAPSHOT

} // namespace openreg
