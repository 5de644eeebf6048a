// Many threads copy tensors in all directions and layouts, and draw from the same generators, while a profiler comes
// and goes. Run it under a sanitizer.
//     tensor_stress SECONDS SEED
// Each thread has tensors of its own; what they share is what the backend shares: streams, caches, pools, generators.
#include "players.h"

#include "device/device.h"
#include "memory/caching_allocator.h"
#include "profiler/kineto.h"
#include "profiler/recorder.h"
#include "random/generator.h"
#include "stream/current_stream.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace {

using openreg::kDeviceType;
using stress::kDevices;
using stress::kStreams;
using stress::streams;

constexpr unsigned kThreads = 4;

std::mutex drawnMutex;
std::vector<std::pair<uint64_t, uint64_t>> drawn[kDevices]; // first block and number of blocks, of all threads
std::atomic<long> copied{0}, crossed{0}, cast{0}, queued{0}, filled{0}, reserved{0}, recorded{0}, named{0};
std::atomic<int32_t> threads[kThreads]; // the system's number of each player's

void check(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "tensor_stress: %s\n", what);
    std::abort();
  }
}

/// One thread at work.
class Player {
 public:
  explicit Player(unsigned seed) : draw_(seed), value_(seed), index_(seed % kThreads) {}

  void run(std::chrono::steady_clock::time_point end) {
    threads[index_] = libkineto::systemThreadId();
    while (std::chrono::steady_clock::now() < end) {
      const Operator here(++operators_ * kThreads + index_);
      const auto device = static_cast<c10::DeviceIndex>(below(kDevices));
      const c10::DeviceGuard guard({kDeviceType, device});
      openreg::exchangeCurrentStream(streams[device][below(kStreams)]);
      copy(device);
      number(device);
    }
  }

 private:
  /// What the profiler knows of what this thread does.
  struct Operator {
    explicit Operator(uint64_t number) {
      openreg::Recorder::pushAnnotation(number);
      openreg::Recorder::pushOp(number);
    }
    ~Operator() {
      openreg::Recorder::popOp();
      openreg::Recorder::popAnnotation();
    }
    Operator(const Operator&) = delete;
    Operator& operator=(const Operator&) = delete;
  };

  size_t below(size_t end) { return draw_() % end; }

  /// A tensor of the host with numbers that no other has, in one of several layouts and types.
  at::Tensor host() {
    constexpr std::array types = {at::kFloat, at::kDouble, at::kLong, at::kShort};
    constexpr std::array<int64_t, 4> sizes = {1, 7, 64, 300};
    const auto n = sizes[below(sizes.size())];
    value_ = (value_ + 1) % 100;
    const auto all = at::arange(n * 4, at::kLong).add_(static_cast<int64_t>(value_)).to(types[below(types.size())]);
    switch (below(4)) {
      case 0:
        return all.view({4, n}).t();
      case 1:
        return all.slice(0, 1, n * 4, 2);
      case 2:
        return all.slice(0, 0, 1).expand({n});
      default:
        return all;
    }
  }

  /// There, perhaps across, perhaps cast, and back, by ways that wait and ways that do not.
  void copy(c10::DeviceIndex device) {
    const auto source = host();
    const bool pinned = below(3) == 0;
    const bool nonBlocking = below(2) == 0;
    const auto from = pinned ? at::empty(source.sizes(), source.options().pinned_memory(true)).copy_(source) : source;
    auto there = from.to(at::Device(kDeviceType, device), source.scalar_type(), nonBlocking, /*copy=*/true);
    queued += nonBlocking ? 1 : 0;
    if (below(3) == 0) {
      there = there.to(at::Device(kDeviceType, static_cast<c10::DeviceIndex>(1 - device)));
      ++crossed;
    }
    auto expected = source;
    if (below(3) == 0) {
      there = there.to(at::kDouble);
      expected = source.to(at::kDouble);
      ++cast;
    }
    if (there.dim() == 2 && below(2) == 0) {
      there = there.t().clone(at::MemoryFormat::Contiguous);
      expected = expected.t();
    }
    check(at::equal(there.cpu(), expected), "a tensor has come back changed");
    ++copied;
  }

  /// Numbers of the generator that all threads share, and the right to some more of them.
  void number(c10::DeviceIndex device) {
    const auto x = at::empty({static_cast<int64_t>(1 + below(500))}, at::Device(kDeviceType, device)).uniform_().cpu();
    check(x.ge(0).all().item<bool>() && x.lt(1).all().item<bool>(), "a uniform number is not in [0, 1)");
    ++filled;
    const auto blocks = static_cast<uint64_t>(1 + below(5));
    const auto range = openreg::generatorFor(std::nullopt, device).reserve(blocks);
    const std::lock_guard lock(drawnMutex);
    drawn[device].emplace_back(range.offset, blocks);
    ++reserved;
  }

  std::mt19937 draw_;
  unsigned value_;
  const unsigned index_;
  uint64_t operators_ = 0;
};

/// Records what the players do, again and again. A call belongs to the operator that its thread was in.
void profile(std::chrono::steady_clock::time_point end) {
  while (std::chrono::steady_clock::now() < end) {
    openreg::Recorder recorder;
    recorder.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    recorder.stop();
    check(recorder.errors().empty(), "a recording has failed");
    for (const auto& it : recorder.recorded()) {
      ++recorded;
      if (it.op != 0) {
        ++named;
        check(it.thread == threads[it.op % kThreads], "a call belongs to the operator of another thread");
        check(it.annotation != nullptr && it.annotation->number == it.op, "a call has another call's annotation");
      }
    }
  }
}

} // namespace

int main(int, char** argv) {
  c10::register_privateuse1_backend("openreg"); // else PyTorch looks for pinned memory elsewhere
  at::set_num_threads(1);                       // the CPU's own threads are not built with the sanitizer
  std::thread profiler(profile, std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1])));
  stress::play<Player>(kThreads, argv);
  profiler.join();
  for (auto& ranges : drawn) {
    std::ranges::sort(ranges);
    for (size_t i = 1; i < ranges.size(); ++i) {
      check(ranges[i - 1].first + ranges[i - 1].second <= ranges[i].first, "two calls were given the same numbers");
    }
  }
  openreg::emptyCache();
  std::printf(
      "ok copied=%ld crossed=%ld cast=%ld queued=%ld filled=%ld reserved=%ld recorded=%ld named=%ld\n", copied.load(),
      crossed.load(), cast.load(), queued.load(), filled.load(), reserved.load(), recorded.load(), named.load());
}
