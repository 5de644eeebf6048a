// Pinned host memory.
#include "pinned.h"

#include <iterator>

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
  blocks_.emplace(base, Entry{std::move(memory), size, device});
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
  unused_.wait(lock, [&] { return block->second.uses == 0; });
  memory = std::move(block->second.memory);
  blocks_.erase(block);
  lock.unlock();
  return true;
}

std::optional<std::pair<Block, int>> Pinned::find(const void* ptr) const {
  const std::lock_guard lock(mutex_);
  const auto block = blockOf(blocks_, ptr, 0);
  if (block == blocks_.end()) {
    return std::nullopt;
  }
  return std::pair(Block{block->first, block->second.size}, block->second.device);
}

Pinned::Use Pinned::use(const void* ptr, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto block = blockOf(blocks_, ptr, bytes);
  if (block == blocks_.end()) {
    return {};
  }
  ++block->second.uses;
  return {*this, block->first};
}

void Pinned::endUse(const char* base) {
  const std::lock_guard lock(mutex_);
  if (--blocks_.find(base)->second.uses == 0) {
    unused_.notify_all();
  }
}

} // namespace openreg::sim
