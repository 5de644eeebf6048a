// Pinned host memory, and the ends of copies.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "common/memory/memory.h"
#include "library.h"

namespace openreg::cuda {

class Device;

/// All pinned memory of the process.
class Pinned {
 public:
  /// Null if the host has not enough memory.
  void* allocate(size_t size, int device);

  /// Waits until no device uses the block. False if `ptr` is not the start of a live block.
  bool release(void* ptr);

  /// The block in which `ptr` lies, and the device that was current when it was made.
  std::optional<PinnedBlock> find(const void* ptr) const;

 private:
  mutable std::mutex mutex_;
  std::map<const char*, PinnedBlock> blocks_;
};

/// One end of a copy, resolved.
struct Place {
  char* address = nullptr;
  const Device* device = nullptr; ///< Whose memory it is; null if it is the host's.
  bool stays = false;             ///< Whether the memory stays where it is: it is a device's, or pinned.

  // See common/copy_calls.h.
  bool resolveDevice(const void* ptr, size_t size, const Device& owner);
  bool resolveHost(const void* ptr, size_t size, const Device& device);
  bool mayBeQueued() const { return stays; }
};

} // namespace openreg::cuda
