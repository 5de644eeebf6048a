// The part of DeviceMemory that keeps the memory of graphs apart.
#include "device/error.h"
#include "graph/capture.h"
#include "memory/device_memory.h"

#include <algorithm>
#include <iterator>

namespace openreg {

void DeviceMemory::sharePool(c10::MempoolId_t id) {
  const std::lock_guard lock(mutex_);
  privatePools_[id].graphs += 1;
}

void DeviceMemory::leavePool(c10::MempoolId_t id) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto found = privatePools_.find(id); found != privatePools_.end()) { // else the device was reset
    found->second.graphs -= 1;
  }
  forgetEmptyPools();
}

void DeviceMemory::beginCapture(uint64_t capture, c10::MempoolId_t id) {
  const std::lock_guard lock(mutex_);
  captures_[capture] = id;
}

void DeviceMemory::endCapture(uint64_t capture) noexcept {
  const std::lock_guard lock(mutex_);
  captures_.erase(capture);
}

// LITERALINCLUDE START: PRIVATE POOL
// The lock is held. The stream decides, not the thread: the autograd engine allocates from a thread of its own.
Pool* DeviceMemory::privatePool(orStream_t stream, bool small) {
  const auto capture = captures_.empty() ? captures_.end() : captures_.find(captureId(stream));
  if (capture == captures_.end()) {
    return nullptr;
  }
  const auto id = capture->second;
  auto& pool = privatePools_[id].pools.try_emplace({stream, small}, *this, stream, small, stats_).first->second;
  pool.owner = id;
  return &pool;
}

// The lock is held. A tensor of a graph that is gone may still have some of a pool's memory.
void DeviceMemory::forgetEmptyPools() {
  std::erase_if(privatePools_, [](const auto& it) {
    const auto isEmpty = [](const auto& pool) { return pool.second.segments().empty(); };
    return it.second.graphs == 0 && std::ranges::all_of(it.second.pools, isEmpty);
  });
}

void DeviceMemory::takeSegmentsWithoutGraph(std::vector<Block*>& segments) {
  forgetEmptyPools(); // not afterwards: what is taken now still names its pool
  for (auto& [id, shared] : privatePools_) {
    if (shared.graphs == 0) {
      for (auto& [key, pool] : shared.pools) {
        std::ranges::copy(pool.takeSegments(), std::back_inserter(segments));
      }
    }
  }
}
// LITERALINCLUDE END: PRIVATE POOL

size_t DeviceMemory::keptByGraphs() const {
  size_t bytes = 0;
  for (const auto& [id, shared] : privatePools_) {
    for (const auto& [key, pool] : shared.pools) {
      for (const auto& [first, origin] : pool.segments()) {
        for (const auto* block = first; shared.graphs > 0 && block != nullptr; block = block->after) {
          bytes += block->last == TraceEntry::FREE_COMPLETED ? block->size : 0;
        }
      }
    }
  }
  return bytes;
}

// LITERALINCLUDE START: POSTPONE
bool DeviceMemory::postpone(Block* block) {
  if (block->uses.empty()) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  countAllocated(stats_, *block, kLess);
  note(*block, TraceEntry::FREE_REQUESTED);
  postponed_.push_back(block);
  anyPostponed_.store(true, std::memory_order_relaxed);
  return true;
}

std::vector<Block*> DeviceMemory::takePostponed() {
  std::vector<Block*> blocks;
  if (anyPostponed_.load(std::memory_order_relaxed) && !anyCapture()) {
    const std::lock_guard lock(mutex_);
    blocks.swap(postponed_);
    anyPostponed_.store(false, std::memory_order_relaxed);
  }
  return blocks;
}
// LITERALINCLUDE END: POSTPONE

} // namespace openreg
