// Many threads allocate, write, pass on, record, read and free device memory. Run it under a sanitizer.
//     memory_stress SECONDS SEED
// Each block carries a byte that says whose it is. Whoever finds another byte in it has found a block that was used
// again too early, or twice.
#include "players.h"

#include "device/device.h"
#include "device/error.h"
#include "memory/allocator.h"
#include "memory/caching_allocator.h"
#include "stream/current_stream.h"
#include "stream/event.h"
#include "stream/handle.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <vector>

namespace {

using openreg::kDeviceType;
using stress::kDevices;
using stress::kStreams;
using stress::streams;

constexpr unsigned kThreads = 6;
constexpr size_t kSample = 4096;
constexpr size_t kMost =
    24; // blocks that one thread, or the table, holds: more than 64 MiB for all, far less than 2 GiB
constexpr size_t kSizes[] = {1, 512, 700, 5000, 70'000, 1 << 20, (1 << 20) + 1, 3 << 20, 12 << 20};

struct Held {
  c10::DataPtr data;
  size_t size = 0;
  int mark = 0;
  c10::Stream stream = openreg::defaultStream(0); // the last one that has written
};

std::mutex tableMutex;
std::vector<Held> table; // blocks on their way from one thread to another
std::atomic<long> allocated{0}, verified{0}, exhausted{0}, emptied{0}, passed{0};

void fail(const char* what) {
  std::fprintf(stderr, "memory_stress: %s\n", what);
  std::abort();
}

/// One thread at work.
class Player {
 public:
  Player(unsigned seed) : draw_(seed), mark_(static_cast<int>(seed)) {}

  void run(std::chrono::steady_clock::time_point end) {
    while (std::chrono::steady_clock::now() < end) {
      switch (below(8)) {
        case 0:
        case 1:
        case 2:
          allocate();
          break;
        case 3:
          verify();
          break;
        case 4:
          passOn();
          break;
        case 5:
          takeOver();
          break;
        default:
          drop();
      }
      if (below(50) == 0) {
        openreg::emptyCache();
        ++emptied;
      }
      (void)c10::getDeviceAllocator(kDeviceType)->getDeviceStats(static_cast<c10::DeviceIndex>(below(kDevices)));
    }
    held_.clear();
  }

 private:
  size_t below(size_t end) { return draw_() % end; }

  c10::Stream anyStream(c10::DeviceIndex device) { return streams[static_cast<size_t>(device)][below(kStreams)]; }

  void allocate() {
    if (held_.size() >= kMost) {
      drop();
    }
    const auto device = static_cast<c10::DeviceIndex>(below(kDevices));
    const c10::DeviceGuard guard({kDeviceType, device});
    Held held;
    held.size = kSizes[below(std::size(kSizes))];
    held.stream = anyStream(device);
    held.mark = ++mark_ & 0x7f;
    openreg::exchangeCurrentStream(held.stream);
    try {
      held.data = c10::GetAllocator(kDeviceType)->allocate(held.size);
    } catch (const c10::OutOfMemoryError&) {
      ++exhausted;
      held_.clear();
      return;
    }
    write(held);
    held_.push_back(std::move(held));
    ++allocated;
  }

  static void write(const Held& held) {
    openreg::check(orMemsetAsync(held.data.get(), held.mark, held.size, openreg::streamHandle(held.stream)));
  }

  /// Reads some of it, on the stream that has written last.
  void verify() {
    if (held_.empty()) {
      return;
    }
    const Held& held = held_[below(held_.size())];
    std::vector<unsigned char> host(std::min(held.size, kSample));
    const auto* from = static_cast<const char*>(held.data.get()) + below(held.size - host.size() + 1);
    openreg::check(
        orMemcpyWithStream(host.data(), from, host.size(), orMemcpyDeviceToHost, openreg::streamHandle(held.stream)));
    for (const auto byte : host) {
      if (byte != held.mark) {
        fail("a block has another block's contents");
      }
    }
    ++verified;
  }

  /// Another stream goes on with the block, after the one before and recorded, as it should be.
  void passOn() {
    if (held_.empty()) {
      return;
    }
    Held held = std::move(held_.back());
    held_.pop_back();
    const auto device = held.data.device().index();
    const auto next = anyStream(device);
    const openreg::Event written(device);
    written.record(openreg::streamHandle(held.stream));
    written.block(openreg::streamHandle(next));
    openreg::recordStream(held.data, next);
    held.stream = next;
    held.mark = ++mark_ & 0x7f;
    write(held);
    const std::lock_guard lock(tableMutex);
    if (table.size() >= kMost) {
      std::swap(table[below(table.size())], table.back());
      table.pop_back();
    }
    table.push_back(std::move(held));
    ++passed;
  }

  void takeOver() {
    const std::lock_guard lock(tableMutex);
    if (!table.empty() && held_.size() < kMost) {
      held_.push_back(std::move(table.back()));
      table.pop_back();
    }
  }

  /// Frees with work still queued.
  void drop() {
    if (!held_.empty()) {
      std::swap(held_[below(held_.size())], held_.back());
      held_.pop_back();
    }
  }

  std::mt19937 draw_;
  int mark_;
  std::vector<Held> held_;
};

} // namespace

int main(int, char** argv) {
  stress::play<Player>(kThreads, argv);
  table.clear();
  openreg::emptyCache();
  for (c10::DeviceIndex device = 0; device < kDevices; ++device) {
    const auto stats = c10::getDeviceAllocator(kDeviceType)->getDeviceStats(device);
    const auto [free, total] = c10::getDeviceAllocator(kDeviceType)->getMemoryInfo(device);
    if (free != total || stats.reserved_bytes[0].current != 0 || stats.active[0].current != 0 ||
        stats.allocated_bytes[0].current != 0 || stats.inactive_split_bytes[0].current != 0) {
      fail("something has not returned");
    }
  }
  std::printf(
      "ok allocated=%ld verified=%ld exhausted=%ld emptied=%ld passed=%ld\n", allocated.load(), verified.load(),
      exhausted.load(), emptied.load(), passed.load());
}
