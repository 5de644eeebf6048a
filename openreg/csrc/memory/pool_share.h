// A graph's share in a private pool of device memory.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

#include <cstdint>

namespace openreg {

class DeviceMemory;

/**
 * @brief A graph's share in a private pool. Others may have shares in it, too.
 *
 * As long as there is one, memory of the pool is given to captures into this pool only: each replay uses it again, also
 * where the tensors of the capture are long gone. After the last one, what is free goes back to the driver as cached
 * memory does, by emptyCache() or where memory is short. Both wait for the device, and so for replays under way.
 */
class PoolShare {
 public:
  /** @param device Index. @param id Name of the pool; made, if there is none of that name. */
  PoolShare(c10::DeviceIndex device, c10::MempoolId_t id);
  ~PoolShare();
  PoolShare(const PoolShare&) = delete;
  PoolShare& operator=(const PoolShare&) = delete;

  /** @brief From now on, what the streams of a capture allocate comes from the pool. @param capture Its number. */
  void beginCapture(uint64_t capture);
  /** @brief No longer. */
  void endCapture() noexcept;

  c10::MempoolId_t id() const { return id_; }

 private:
  DeviceMemory* memory_; // of the device's life in which the pool was made
  c10::MempoolId_t id_;
  uint64_t capture_ = 0;
};

} // namespace openreg
