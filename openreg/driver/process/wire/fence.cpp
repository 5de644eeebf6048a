// Fences.
#include "fence.h"

namespace openreg::process {

void Fence::raise(uint64_t to) {
  uint64_t now = value.load();
  while (now < to && !value.compare_exchange_weak(now, to)) {
  }
  cpu.store(currentCpu(), std::memory_order_relaxed);
}

void Fence::interrupt() {
  wakes.fetch_add(1);
  futexWakeAll(wakes, Sharing::Shared);
}

} // namespace openreg::process
