// Pinned host memory.
#include "pinned.h"

#include <algorithm>
#include <iterator>

#include "device.h"

namespace openreg::sim {

namespace {

template <class Blocks>
auto blockOf(Blocks& blocks, const void* ptr, size_t bytes) {
  auto next = blocks.upper_bound(static_cast<const char*>(ptr));
  if (next == blocks.begin()) {
    return blocks.end();
  }
  auto block = std::prev(next);
  const bool inside = Block{block->first, block->second.size}.holds(ptr, bytes) && !block->second.leaving;
  return inside ? block : blocks.end();
}

} // namespace

void* Pinned::allocate(size_t size, int device) {
  Mapping memory(size, 0, Mapping::Access::ReadWrite); // Whole pages, as pinning is done by the page.
  if (!memory) {
    return nullptr;
  }
  char* base = memory.begin();
  const std::lock_guard lock(mutex_);
  blocks_.emplace(base, Entry{.memory = std::move(memory), .size = size, .device = device, .uses = {}});
  return base;
}

bool Pinned::release(void* ptr) {
  Mapping memory; // Unmapped behind the lock.
  std::unique_lock lock(mutex_);
  const auto block = blocks_.find(static_cast<const char*>(ptr));
  if (block == blocks_.end() || block->second.leaving) {
    return false;
  }
  block->second.leaving = true;
  const auto& uses = block->second.uses;
  unused_.wait(lock, [&] {
    return std::ranges::all_of(uses, [](const auto& use) { return use.first->failure.lost().load(); });
  });
  if (!uses.empty()) {
    block->second.unattended = true;
    return true;
  }
  memory = std::move(block->second.memory);
  blocks_.erase(block);
  lock.unlock();
  return true;
}

std::optional<PinnedBlock> Pinned::find(const void* ptr) const {
  const std::lock_guard lock(mutex_);
  const auto block = blockOf(blocks_, ptr, 0);
  if (block == blocks_.end()) {
    return std::nullopt;
  }
  return PinnedBlock{block->first, block->second.size, block->second.device};
}

Pinned::Use Pinned::use(const void* ptr, size_t bytes, const Device& device) {
  const std::lock_guard lock(mutex_);
  const auto block = blockOf(blocks_, ptr, bytes);
  if (block == blocks_.end()) {
    return {};
  }
  ++block->second.uses[&device];
  return {*this, block->first, device};
}

void Pinned::endUse(const char* base, const Device& device) {
  Mapping memory; // As in release().
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(base);
  auto& uses = block->second.uses;
  if (--uses[&device] == 0) {
    uses.erase(&device);
    unused_.notify_all();
  }
  if (uses.empty() && block->second.unattended) {
    memory = std::move(block->second.memory);
    blocks_.erase(block);
  }
}

void Pinned::interruptWaiters() {
  const std::lock_guard lock(mutex_); // Who waits has either seen the loss, or is told of it.
  unused_.notify_all();
}

} // namespace openreg::sim
