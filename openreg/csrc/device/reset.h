// Resetting a device, and forgetting what was kept of its life before.
#pragma once

#include "device/device.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace openreg {

// LITERALINCLUDE START: LIFE
/// How often each device has been reset.
extern std::array<std::atomic<uint64_t>, kMaxDevices> resets;

// LITERALINCLUDE START: LIFE OF
/**
 * @brief Which life of a device this is: 1 at first, one more after each reset. Costs a load.
 *
 * Whoever keeps a handle of the driver reads it before asking for the handle, and keeps it beside: what is of another
 * life is worth nothing.
 */
inline uint64_t lifeOf(c10::DeviceIndex device) noexcept {
  return resets.at(static_cast<uint8_t>(device)).load(std::memory_order_acquire) + 1;
}
// LITERALINCLUDE END: LIFE OF
// LITERALINCLUDE END: LIFE

// LITERALINCLUDE START: ON RESET
/**
 * @brief A function that runs when a device has been reset, to drop what was kept of it.
 *
 * Make one at namespace scope. Work of other threads may be under way. The order among files is not defined.
 */
class OnReset {
 public:
  using Forget = void (*)(c10::DeviceIndex device);
  explicit OnReset(Forget forget);
};

/**
 * @brief Returns a device to its first state. Blocks until its running kernel has ended; drops what is queued.
 *
 * Tensors, streams and events of before are invalid after; using one is an error. Waits for no other device. The caller
 * must not hold the GIL.
 * @throws c10::AcceleratorError if there is no such device, or in a forked child.
 */
C10_EXPORT void resetDevice(c10::DeviceIndex device);
// LITERALINCLUDE END: ON RESET

} // namespace openreg
