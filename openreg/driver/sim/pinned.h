// Pinned host memory: which blocks there are, and which of them queued copies still use.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

#include "common/memory/mapping.h"
#include "common/memory/memory.h"

namespace openreg::sim {

class Device;

/// All pinned memory of the process.
class Pinned {
 public:
  /// Keeps a block alive while a queued copy of a device uses it.
  class Use {
   public:
    Use() = default;
    Use(Pinned& owner, const char* base, const Device& device) : owner_(&owner), base_(base), device_(&device) {}
    Use(Use&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), base_(other.base_), device_(other.device_) {}
    Use& operator=(Use&& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(base_, other.base_);
      std::swap(device_, other.device_);
      return *this;
    }
    ~Use() {
      if (owner_ != nullptr) {
        owner_->endUse(base_, *device_);
      }
    }
    explicit operator bool() const { return owner_ != nullptr; }

   private:
    Pinned* owner_ = nullptr;
    const char* base_ = nullptr;
    const Device* device_ = nullptr;
  };

  /// Null if the host has not enough memory.
  void* allocate(size_t size, int device);

  /// Waits until no queued copy uses the block, but for copies of lost devices: with the last of those the block goes,
  /// whenever that is. False if `ptr` is not the start of a live block.
  bool release(void* ptr);

  /// The block in which `ptr` lies, and the device that was current when it was made.
  std::optional<PinnedBlock> find(const void* ptr) const;

  /// Announces a queued copy of [ptr, ptr + bytes) by a device; empty if these bytes are not all in one block.
  Use use(const void* ptr, size_t bytes, const Device& device);

  /// A device has been lost.
  void interruptWaiters();

 private:
  struct Entry {
    Mapping memory;
    size_t size;
    int device;
    std::map<const Device*, int> uses;
    bool leaving = false;    ///< Somebody has freed it or waits for that: a second free finds it gone.
    bool unattended = false; ///< Nobody waits: the last use unmaps it.
  };

  void endUse(const char* base, const Device& device);

  mutable std::mutex mutex_;
  std::condition_variable unused_;
  std::map<const char*, Entry> blocks_;
};

} // namespace openreg::sim
