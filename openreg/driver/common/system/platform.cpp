// The machine: Linux.
#include "platform.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <thread>

namespace openreg {

namespace {
constexpr int64_t kNsPerSecond = 1'000'000'000;

int flagOf(Sharing sharing) {
  return sharing == Sharing::Private ? FUTEX_PRIVATE_FLAG : 0;
}
} // namespace

int64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

int coreCount() {
  // Kept: the library reads files to find it out, which takes longer than a small kernel.
  static const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return cores;
}

int currentCpu() {
  return sched_getcpu();
}

void futexWait(const std::atomic<uint32_t>& word, uint32_t expected, int64_t timeoutNs, Sharing sharing) {
  static_assert(sizeof(word) == sizeof(uint32_t), "a futex is a plain 32-bit word");
  const timespec timeout{timeoutNs / kNsPerSecond, timeoutNs % kNsPerSecond};
  syscall(SYS_futex, &word, FUTEX_WAIT | flagOf(sharing), expected, timeoutNs < 0 ? nullptr : &timeout, nullptr, 0);
}

void futexWake(const std::atomic<uint32_t>& word, int threads, Sharing sharing) {
  syscall(SYS_futex, &word, FUTEX_WAKE | flagOf(sharing), threads, nullptr, nullptr, 0);
}

void futexWakeAll(const std::atomic<uint32_t>& word, Sharing sharing) {
  futexWake(word, INT_MAX, sharing);
}

} // namespace openreg
