// The memory of one device, through all its resets.
#pragma once

#include "memory/device_memory.h"

#include <atomic>
#include <memory>

namespace openreg {

// LITERALINCLUDE START: MEMORY LIVES
/**
 * @brief The memory that a device has now, and what is left of that which it had before its resets. Any thread.
 *
 * Tensors outlive a reset, and each frees its block one day: into the DeviceMemory that it came from, which therefore
 * stays. It is used again for a later life once nothing is left in it. None is ever destroyed, as a thread may have
 * come so far as to allocate from it when the device was reset.
 */
class MemoryLives {
 public:
  explicit MemoryLives(c10::DeviceIndex device);

  /** @brief The memory of now. Costs a load. */
  DeviceMemory& now() const { return *now_.load(std::memory_order_acquire); }

  /** @brief The device has been reset: gives it an empty memory, with the limit that the last one had. */
  void renew();

  /** @brief Gives the segments in which nothing is in use back to the driver. Waits for the device. */
  void emptyCache();

 private:
  DeviceMemory& emptyMemory();

  const c10::DeviceIndex device_;
  std::mutex mutex_; // Guards the list; taken before the locks of its members.
  std::vector<std::unique_ptr<DeviceMemory>> all_;
  std::atomic<DeviceMemory*> now_;
};
// LITERALINCLUDE END: MEMORY LIVES

} // namespace openreg
