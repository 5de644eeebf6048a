// The report of a host access to device memory. Everything the handler calls is async-signal-safe.
#include "check.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace openreg {

namespace {

/// An address range in a form that a signal handler can read while another thread changes it: a reader that sees the
/// base then reads a size that was written before.
struct Range {
  std::atomic<uintptr_t> base{0}; ///< 0: unused.
  std::atomic<size_t> size{0};
  std::atomic<int> device{0};

  void set(int onDevice, const char* begin, size_t bytes) {
    size.store(bytes);
    device.store(onDevice);
    base.store(reinterpret_cast<uintptr_t>(begin));
  }
  bool contains(uintptr_t address) const {
    const uintptr_t begin = base.load();
    return begin != 0 && address >= begin && address - begin < size.load();
  }
};

constexpr size_t kMaxAllocations = 1 << 16; ///< More are not named, only said to be device memory.
constexpr size_t kMaxSpaces = 64;           ///< A reset makes a new one; of more the last is forgotten.

std::array<Range, kMaxAllocations> allocations;
std::array<Range, kMaxSpaces> spaces;
std::atomic<size_t> allocationsUsed{0};
std::atomic<size_t> spacesUsed{0};
std::mutex mutex; ///< Orders the writers.
struct sigaction previous;

/// A line put together without the heap or stdio.
class Line {
 public:
  Line& text(const char* words) {
    while (*words != '\0' && used_ < sizeof(buffer_)) {
      buffer_[used_++] = *words++;
    }
    return *this;
  }
  Line& number(uint64_t value, unsigned base) {
    char digits[24];
    size_t at = sizeof(digits) - 1;
    digits[at] = '\0';
    do {
      digits[--at] = "0123456789abcdef"[value % base];
      value /= base;
    } while (value != 0);
    return text(base == 16 ? "0x" : "").text(digits + at);
  }
  void write() { (void)!::write(STDERR_FILENO, buffer_, used_); }

 private:
  char buffer_[512];
  size_t used_ = 0;
};

template <size_t N>
const Range* findRange(const std::array<Range, N>& ranges, size_t used, uintptr_t address) {
  for (size_t i = 0; i < used; ++i) {
    if (ranges[i].contains(address)) {
      return &ranges[i];
    }
  }
  return nullptr;
}

void describe(uintptr_t address) {
  const Range* space = findRange(spaces, spacesUsed.load(), address);
  if (space == nullptr) {
    return; // Somebody else's fault.
  }
  Line line;
  line.text("openreg: the host accessed device memory at ").number(address, 16).text(": ");
  if (const Range* block = findRange(allocations, allocationsUsed.load(), address)) {
    line.text("byte ").number(address - block->base.load(), 10).text(" of the allocation at ");
    line.number(block->base.load(), 16).text(" with ").number(block->size.load(), 10).text(" bytes on device ");
    line.number(static_cast<uint64_t>(block->device.load()), 10);
  } else {
    line.text("no live allocation of device ").number(static_cast<uint64_t>(space->device.load()), 10);
  }
  line.text(". Copy it to the host first.\n").write();
}

void onFault(int signal, siginfo_t* info, void* context) {
  describe(reinterpret_cast<uintptr_t>(info->si_addr));
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    // The instruction runs again after our return and faults with the default action: the process dies by this signal.
    ::signal(signal, SIG_DFL);
  }
}

} // namespace

void installFaultReport() {
  struct sigaction action{};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous);
}

void noteAddresses(int device, const char* base, size_t size) {
  const std::lock_guard lock(mutex);
  const size_t slot = std::min(spacesUsed.load(), kMaxSpaces - 1);
  spaces[slot].set(device, base, size);
  spacesUsed.store(slot + 1);
}

void noteAllocation(int device, const char* base, size_t size) {
  const std::lock_guard lock(mutex);
  const size_t used = allocationsUsed.load();
  for (size_t i = 0; i < used; ++i) {
    if (allocations[i].base.load() == 0) {
      allocations[i].set(device, base, size);
      return;
    }
  }
  if (used < kMaxAllocations) {
    allocations[used].set(device, base, size);
    allocationsUsed.store(used + 1);
  }
}

void noteFree(const char* base) {
  const std::lock_guard lock(mutex);
  const size_t used = allocationsUsed.load();
  for (size_t i = 0; i < used; ++i) {
    if (allocations[i].base.load() == reinterpret_cast<uintptr_t>(base)) {
      allocations[i].base.store(0);
      return;
    }
  }
}

} // namespace openreg
