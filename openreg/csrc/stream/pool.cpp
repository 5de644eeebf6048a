// The streams of a device beyond the default stream: a fixed number for each priority, made when they are first needed.
#include "stream/pool.h"

#include "device/device.h"
#include "device/error.h"
#include "device/reset.h"

#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

namespace openreg {
namespace {

// LITERALINCLUDE START: STREAM NUMBERS
constexpr int kStreams = 32;   // of each device and priority, as many as CUDA's backend has
constexpr int kPriorities = 4; // that we tell apart; a device may have fewer

// 0 is the default stream. 1 to 32 are the streams of the lowest priority, 33 to 64 those of the next, and so on.
constexpr c10::StreamId makeId(int level, int index) {
  return 1 + level * kStreams + index;
}

// After a reset of the device the numbers go on behind those of before, so that an old one doesn't name a new stream.
constexpr c10::StreamId kIdsOfALife = kStreams * kPriorities;

constexpr c10::StreamId inLife(c10::StreamId id, uint64_t life) {
  return id + static_cast<c10::StreamId>(life - 1) * kIdsOfALife;
}
// LITERALINCLUDE END: STREAM NUMBERS

// LITERALINCLUDE START: NEXT STREAM
struct Slot {
  std::atomic<orStream_t> handle{nullptr};
  std::atomic<uint64_t> life{0}; // in which it was made; 0: not made yet
};

struct Pool {
  std::atomic<uint32_t> next{0};
  std::array<Slot, kStreams> slots{};
};

// Has no destructor, so that whatever still runs while the process ends may use it.
constinit std::array<std::array<Pool, kPriorities>, kMaxDevices> pools{};

orStream_t create(c10::DeviceIndex device, int priority) {
  const c10::DeviceGuard guard({kDeviceType, device}); // the driver makes streams on the current device
  orStream_t stream = nullptr;
  check(orStreamCreateWithPriority(&stream, orStreamDefault, priority));
  return stream;
}

void keep(Slot& slot, orStream_t made, uint64_t life) {
  static constinit std::mutex mutex; // not reached in a forked child, where nothing can be made
  const std::lock_guard lock(mutex);
  if (slot.life.load(std::memory_order_relaxed) < life) {
    slot.handle.store(made, std::memory_order_relaxed);
    slot.life.store(life, std::memory_order_release);
  } else {
    (void)orStreamDestroy(made); // another thread was faster
  }
}

} // namespace

c10::Stream nextStream(c10::DeviceIndex device, int priority) {
  int least = 0;
  int greatest = 0;
  check(orDeviceGetStreamPriorityRange(&least, &greatest, device));
  priority = std::clamp(priority, std::max(greatest, least - (kPriorities - 1)), least);
  const int level = least - priority;
  auto& pool = pools[device][level];
  const int index = static_cast<int>(pool.next.fetch_add(1, std::memory_order_relaxed) % kStreams);
  const auto life = lifeOf(device);
  if (auto& slot = pool.slots[index]; slot.life.load(std::memory_order_acquire) != life) {
    keep(slot, create(device, priority), life);
  }
  return c10::Stream(c10::Stream::UNSAFE, {kDeviceType, device}, inLife(makeId(level, index), life));
}
// LITERALINCLUDE END: NEXT STREAM

// LITERALINCLUDE START: FIND STREAM
orStream_t findStream(c10::DeviceIndex device, c10::StreamId id) noexcept {
  if (device < 0 || id < 1) {
    return nullptr;
  }
  const auto number = (id - 1) % kIdsOfALife;
  const auto& slot = pools[device][number / kStreams].slots[number % kStreams];
  const auto life = slot.life.load(std::memory_order_acquire);
  return id == inLife(number + 1, life) ? slot.handle.load(std::memory_order_relaxed) : nullptr;
}

// LITERALINCLUDE START: FIND NUMBER
c10::StreamId findNumber(c10::DeviceIndex device, orStream_t handle) noexcept {
  for (int level = 0; level < kPriorities; ++level) {
    for (int index = 0; index < kStreams; ++index) {
      const auto& slot = pools[device][level].slots[index];
      const auto life = slot.life.load(std::memory_order_acquire);
      if (life != 0 && slot.handle.load(std::memory_order_relaxed) == handle) {
        return inLife(makeId(level, index), life);
      }
    }
  }
  return -1;
}

// LITERALINCLUDE END: FIND NUMBER
bool isFromBeforeReset(c10::DeviceIndex device, c10::StreamId id) noexcept {
  return id > 0 && id < inLife(1, lifeOf(device));
}
// LITERALINCLUDE END: FIND STREAM

} // namespace openreg
