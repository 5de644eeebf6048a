// Handles: numbers that name an object, so that a stale or made-up one is found out and never followed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace openreg {

/// What a handle names. The value is the handle's top byte: none is 0, so no pointer of a program looks like a handle.
enum class HandleKind : uint8_t {
  Stream = 0xE1,
  Event = 0xE2,
  Module = 0xE3,
  Kernel = 0xE4,
  Subscriber = 0xE5,
  Graph = 0xE6,
  GraphExec = 0xE7
};

/// Base of the objects that have handles.
struct Handled {
  std::atomic<uint64_t> handle{0}; ///< The handle that is valid now, 0 if none.
  uint32_t index = 0;
  uint32_t generation = 0;
};

/// Objects of one kind. They are made as needed and never destroyed, only given a new handle for the next owner. So a
/// look-up takes no lock and may be followed by a use, even if another thread destroys the object in between: the user
/// finds an object of the right type and, looking at `handle` under that object's own lock, that it is not meant any
/// more.
///
/// A handle is kind (8 bits), generation (32) and index (24).
template <class T, HandleKind kKind, uint32_t kMax>
class HandleTable {
 public:
  /// An object without an owner; null if there are too many. It has no handle until `publish`.
  T* acquire() {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      T* object = free_.back();
      free_.pop_back();
      return object;
    }
    if (count_ == kMax) {
      return nullptr;
    }
    auto& chunk = chunks_[count_ / kChunk];
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
      chunk.store(new T[kChunk], std::memory_order_release);
    }
    T* object = chunk.load(std::memory_order_relaxed) + count_ % kChunk;
    object->index = count_++;
    return object;
  }

  /// Gives the object a fresh handle, under which it can be found from now on. That is the owner's: from now on another
  /// thread (a reset) may take the object back, so `handle` of the object need not be what was returned here.
  uint64_t publish(T& object) {
    const uint64_t handle =
        uint64_t{static_cast<uint8_t>(kKind)} << 56 | uint64_t{++object.generation} << 24 | object.index;
    object.handle.store(handle, std::memory_order_release);
    return handle;
  }

  /// Takes an object whose handle has been made invalid back for the next owner.
  void release(T& object) {
    const std::lock_guard lock(mutex_);
    free_.push_back(&object);
  }

  /// The object that `handle` names, or null. Any bit pattern may be asked for.
  T* find(uint64_t handle) const {
    const uint32_t index = handle & 0xFFFFFF;
    if (handle >> 56 != static_cast<uint8_t>(kKind) || index >= kMax) {
      return nullptr;
    }
    T* chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
    if (chunk == nullptr) {
      return nullptr;
    }
    T& object = chunk[index % kChunk];
    return object.handle.load(std::memory_order_acquire) == handle ? &object : nullptr;
  }

  /// Calls `visit` for each object ever made, whether it has an owner or not.
  template <class Visit>
  void forEach(Visit visit) {
    uint32_t count = 0;
    {
      const std::lock_guard lock(mutex_);
      count = count_;
    }
    for (uint32_t i = 0; i < count; ++i) {
      visit(chunks_[i / kChunk].load(std::memory_order_acquire)[i % kChunk]);
    }
  }

 private:
  static constexpr uint32_t kChunk = 64;
  static_assert(kMax <= 1u << 24 && kMax % kChunk == 0);

  mutable std::mutex mutex_;
  std::array<std::atomic<T*>, kMax / kChunk> chunks_{};
  std::vector<T*> free_;
  uint32_t count_ = 0;
};

} // namespace openreg
