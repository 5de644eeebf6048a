// Pinned host memory: which blocks there are, and which of them queued copies still use.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

#include "mapping.h"
#include "memory.h"

namespace openreg::sim {

/// All pinned memory of the process.
class Pinned {
 public:
  /// Keeps a block alive while a queued copy uses it.
  class Use {
   public:
    Use() = default;
    Use(Pinned& owner, const char* base) : owner_(&owner), base_(base) {}
    Use(Use&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), base_(other.base_) {}
    Use& operator=(Use&& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(base_, other.base_);
      return *this;
    }
    ~Use() {
      if (owner_ != nullptr) {
        owner_->endUse(base_);
      }
    }
    explicit operator bool() const { return owner_ != nullptr; }

   private:
    Pinned* owner_ = nullptr;
    const char* base_ = nullptr;
  };

  /// Null if the host has not enough memory.
  void* allocate(size_t size, int device);

  /// Waits until no queued copy uses the block. False if `ptr` is not the start of a live block.
  bool release(void* ptr);

  /// The block in which `ptr` lies, and the device that was current when it was made.
  std::optional<std::pair<Block, int>> find(const void* ptr) const;

  /// Announces a queued copy of [ptr, ptr + bytes); empty if these bytes are not all in one block.
  Use use(const void* ptr, size_t bytes);

 private:
  struct Entry {
    Mapping memory;
    size_t size;
    int device;
    int uses = 0;
    bool leaving = false; ///< Somebody waits to free it: a second free finds it gone.
  };

  void endUse(const char* base);

  mutable std::mutex mutex_;
  std::condition_variable unused_;
  std::map<const char*, Entry> blocks_;
};

} // namespace openreg::sim
