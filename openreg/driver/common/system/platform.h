// What drivers need of the machine: a pause, a clock, the current core, and sleeping on a word.
#pragma once

#include <atomic>
#include <cstdint>

namespace openreg {

/// Tells the core that this is a spin loop.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Nanoseconds of CLOCK_MONOTONIC.
int64_t nowNs();

/// Cores that threads of this process may run on.
int coreCount();

/// The core that this thread runs on now.
int currentCpu();

/// Who sleeps on a word and wakes others: threads of this process, or of all that have its memory mapped.
enum class Sharing { Private, Shared };

/// Sleeps while `word` is `expected`, at most `timeoutNs` nanoseconds (negative: no limit). May return early.
/// std::atomic::wait has no time limit and spins first, by rules of its own; hence the system call.
void futexWait(
    const std::atomic<uint32_t>& word, uint32_t expected, int64_t timeoutNs = -1, Sharing sharing = Sharing::Private);

/// Wakes at most `threads` of those who sleep on `word`.
void futexWake(const std::atomic<uint32_t>& word, int threads, Sharing sharing = Sharing::Private);

/// Wakes all who sleep on `word`.
void futexWakeAll(const std::atomic<uint32_t>& word, Sharing sharing = Sharing::Private);

} // namespace openreg
