// Pinned host memory, and the ends of copies.
#include "pinned.h"

#include <iterator>

#include "driver.h"

namespace openreg::cuda {

void* Pinned::allocate(size_t size, int device) {
  constexpr size_t kMost = size_t{1} << 46; // CUDA does not check for what would overflow.
  void* made = nullptr;
  if (size > kMost || library().cuMemHostAlloc(&made, size, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  blocks_[static_cast<char*>(made)] = {static_cast<char*>(made), size, device};
  return made;
}

bool Pinned::release(void* ptr) {
  {
    const std::lock_guard lock(mutex_);
    if (blocks_.erase(static_cast<char*>(ptr)) == 0) {
      return false;
    }
  }
  for (const auto& device : Cuda::instance().devices) {
    device->drain(); // CUDA does not tell who uses it.
  }
  (void)library().cuMemFreeHost(ptr);
  return true;
}

std::optional<PinnedBlock> Pinned::find(const void* ptr) const {
  const std::lock_guard lock(mutex_);
  const auto next = blocks_.upper_bound(static_cast<const char*>(ptr));
  if (next == blocks_.begin()) {
    return std::nullopt;
  }
  const PinnedBlock& block = std::prev(next)->second;
  return Block{block.base, block.size}.holds(ptr, 0) ? std::optional(block) : std::nullopt;
}

bool Place::resolveDevice(const void* ptr, size_t size, const Device& owner) {
  const auto block = owner.memory.find(ptr);
  address = static_cast<char*>(const_cast<void*>(ptr));
  device = &owner;
  return stays = block && block->holds(ptr, size);
}

bool Place::resolveHost(const void* ptr, size_t size, const Device&) {
  const auto block = Cuda::instance().pinned().find(ptr);
  address = static_cast<char*>(const_cast<void*>(ptr));
  stays = block.has_value();
  return !stays || Block{block->base, block->size}.holds(ptr, size);
}

} // namespace openreg::cuda
