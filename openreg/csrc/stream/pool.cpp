// The streams of a device beyond the default stream: a fixed number for each priority, made when they are first needed.
#include "stream/pool.h"

#include "device/device.h"
#include "device/error.h"

#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

namespace openreg {
namespace {

// LITERALINCLUDE START: STREAM NUMBERS
constexpr int kStreams = 32;   // of each device and priority, as many as CUDA's backend has
constexpr int kPriorities = 4; // that we tell apart; a device may have fewer
constexpr size_t kMaxDevices = std::numeric_limits<c10::DeviceIndex>::max() + 1;

// 0 is the default stream. 1 to 32 are the streams of the lowest priority, 33 to 64 those of the next, and so on.
constexpr c10::StreamId makeId(int level, int index) {
  return 1 + level * kStreams + index;
}
// LITERALINCLUDE END: STREAM NUMBERS

// LITERALINCLUDE START: NEXT STREAM
struct Pool {
  std::atomic<uint32_t> next{0};
  std::array<std::atomic<orStream_t>, kStreams> handles{}; // null: not made yet
};

// Has no destructor, so that whatever still runs while the process ends may use it.
constinit std::array<std::array<Pool, kPriorities>, kMaxDevices> pools{};

orStream_t create(c10::DeviceIndex device, int priority) {
  const c10::DeviceGuard guard({kDeviceType, device}); // the driver makes streams on the current device
  orStream_t stream = nullptr;
  check(orStreamCreateWithPriority(&stream, orStreamDefault, priority));
  return stream;
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
  if (auto& slot = pool.handles[index]; slot.load(std::memory_order_acquire) == nullptr) {
    orStream_t nobody = nullptr;
    if (auto* const made = create(device, priority); !slot.compare_exchange_strong(nobody, made)) {
      (void)orStreamDestroy(made); // another thread was faster; a lock could be left locked in a forked child
    }
  }
  return c10::Stream(c10::Stream::UNSAFE, {kDeviceType, device}, makeId(level, index));
}
// LITERALINCLUDE END: NEXT STREAM

// LITERALINCLUDE START: FIND STREAM
orStream_t findStream(c10::DeviceIndex device, c10::StreamId id) noexcept {
  const auto slot = id - 1;
  if (device < 0 || slot < 0 || slot >= kPriorities * kStreams) {
    return nullptr;
  }
  return pools[device][slot / kStreams].handles[slot % kStreams].load(std::memory_order_acquire);
}
// LITERALINCLUDE END: FIND STREAM

} // namespace openreg
