// The memory of one device, through all its resets.
#include "memory/lives.h"

namespace openreg {

MemoryLives::MemoryLives(c10::DeviceIndex device) : device_(device), now_(&emptyMemory()) {}

// LITERALINCLUDE START: RENEW MEMORY
void MemoryLives::renew() {
  const std::lock_guard lock(mutex_);
  auto& before = now();
  auto& fresh = emptyMemory();
  fresh.setFraction(before.fraction());
  now_.store(&fresh, std::memory_order_release);
  (void)before.clear(); // unless a tensor still has some of it; then a later reset will
}

DeviceMemory& MemoryLives::emptyMemory() {
  for (const auto& memory : all_) {
    if (memory.get() != &now() && memory->clear()) {
      return *memory;
    }
  }
  return *all_.emplace_back(std::make_unique<DeviceMemory>(device_));
}
// LITERALINCLUDE END: RENEW MEMORY

void MemoryLives::emptyCache() {
  const std::lock_guard lock(mutex_);
  for (const auto& memory : all_) {
    memory->emptyCache();
  }
}

} // namespace openreg
