// Fences, and sleeping on a word that several processes see.
#include "fence.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace openreg::process {

void sleepOn(const std::atomic<uint32_t>& word, uint32_t expected, int64_t timeoutNs) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  const timespec timeout{timeoutNs / kNsPerSecond, timeoutNs % kNsPerSecond};
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &timeout, nullptr, 0); // Not _PRIVATE: others share the word.
}

void wakeSleepers(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Fence::advance(uint64_t to) {
  uint64_t now = value.load();
  while (now < to && !value.compare_exchange_weak(now, to)) {
  }
  cpu.store(sim::currentCpu(), std::memory_order_relaxed);
  if (sleepers.load() != 0) {
    interrupt();
  }
}

void Fence::interrupt() {
  wakes.fetch_add(1);
  wakeSleepers(wakes);
}

} // namespace openreg::process
