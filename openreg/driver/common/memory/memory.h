// The memory of one device: what is allocated, and which allocation a pointer lies in.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "arena.h"
#include "shared_file.h"
#include "space.h"

namespace openreg {

constexpr size_t kMemoryAlignment = kSharedAlignment; ///< Each allocation can be shared by itself.

/// A live allocation. `size` is what was asked for: the bytes up to the next allocation belong to none.
struct Block {
  const char* base = nullptr;
  size_t size = 0;

  /// Whether [ptr, ptr + bytes) lies inside.
  bool holds(const void* ptr, size_t bytes) const {
    const size_t offset = static_cast<size_t>(static_cast<const char*>(ptr) - base);
    return ptr >= base && offset < size && bytes <= size - offset;
  }
};

/// A live allocation of pinned host memory, and the device that was current when it was made.
struct PinnedBlock {
  const char* base = nullptr;
  size_t size = 0;
  int device = -1;
};

/// What note() makes of an allocation of another process.
enum class Noted {
  Now,
  Already, ///< Just this one is known.
  Not      ///< It cannot be: misaligned, not in the addresses of now (but of before a reset?), or where another one is.
};

/// Addresses are reserved by the first allocation, and anew after a reset.
class Memory {
 public:
  /// @param bytes Size; rounded up to kMemoryAlignment.
  /// @param poison Whether fresh and freed bytes are filled with 0xCB.
  Memory(int device, size_t bytes, bool poison);

  size_t total() const { return total_; }

  /// For a driver that learns its device's size at the first use: before anybody else may look.
  void resize(size_t bytes);
  size_t free() const;

  /// How many addresses there are from base() on.
  size_t addresses() const { return 2 * total_; }

  /// Takes its addresses if it hasn't; false if the machine has not enough of them.
  bool prepare();

  /// Null if there is not enough; that says nothing yet, and the caller describes the error.
  void* allocate(size_t size);

  /// False if `ptr` is not the start of a live allocation.
  bool release(void* ptr);

  /// First address of now; null before the first allocation.
  const char* base() const { return begin_.load(std::memory_order_acquire); }

  // Book-keeping alone, where another process hands the memory out.

  /// `space` is where it is.
  void adopt(std::shared_ptr<Space> space);
  /// It has allocated [base, base + size).
  Noted note(const char* base, size_t size);
  /// It has freed what starts at `base`; false if nothing does.
  bool forget(const char* base);

  // Memory shared between processes.

  /// Names the allocation that starts at `base` to other processes. Its bytes move into a file of their own at the
  /// first call: nobody may use them meanwhile. Nothing if no allocation starts there. Throws std::system_error.
  std::optional<orIpcMemHandle> share(const char* base);
  /// Takes addresses for `size` bytes of another process, behind the device's own; null if there are none left.
  char* reserve(size_t size);
  /// The same where the host has taken them.
  Noted noteReserved(const char* base, size_t size);
  /// What is behind these addresses from now on; false if the machine refuses.
  bool show(const char* base, size_t size, const Descriptor& file, size_t offset);
  /// Gives such addresses back; false if nothing was reserved there.
  bool close(const char* base);
  /// Whether `ptr` lies in such addresses of now.
  bool isForeign(const void* ptr) const {
    const char* begin = begin_.load(std::memory_order_acquire);
    return begin != nullptr && ptr >= begin + total_ && ptr < end_.load(std::memory_order_acquire);
  }

  /// Calls `visit(base, size)` for each live allocation of the device's own memory.
  template <class Visit>
  void forEach(Visit visit) const {
    const std::shared_lock lock(mutex_);
    for (const auto& [base, size] : blocks_) {
      if (!isForeign(base)) {
        visit(base, size);
      }
    }
  }

  /// The live allocation in which `ptr` lies.
  std::optional<Block> find(const void* ptr) const;

  /// The bytes behind [ptr, ptr + bytes), if they lie in one live allocation.
  std::optional<Span> span(const void* ptr, size_t bytes) const;

  /// Whether `ptr` is or was an address of this device, allocated or not.
  bool covers(const void* ptr) const {
    const bool now = ptr >= begin_.load(std::memory_order_acquire) && ptr < end_.load(std::memory_order_acquire);
    return now || (everReset_.load(std::memory_order_acquire) && covered(ptr));
  }

  /// Whether `ptr` was an address of this device before a reset.
  bool covered(const void* ptr) const;

  /// Whether `ptr` is an address from before a reset: never given out again.
  bool stale(const void* ptr) const {
    const bool now = ptr >= begin_.load(std::memory_order_acquire) && ptr < end_.load(std::memory_order_acquire);
    return !now && everReset_.load(std::memory_order_acquire) && covered(ptr);
  }

  /// Whether any memory of this process has stale addresses.
  static bool anyStale() { return anyReset_.load(std::memory_order_relaxed); }

  /// Changes whenever an allocation ends: a Block that was found before may be gone.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  /// Translates for the device's own workers, which a reset waits for; hence without sharing ownership.
  char* view(const void* ptr) const {
    return const_cast<char*>(static_cast<const char*>(ptr)) + distance_.load(std::memory_order_acquire);
  }

  /// Frees everything. Old addresses are never given out again.
  void reset();

 private:
  void settle(std::shared_ptr<Space> space);
  bool prepareLocked();
  Noted noteWithin(const char* base, size_t size, size_t lower, size_t upper);
  void add(const char* base, size_t size);
  void giveBack(size_t offset, size_t bytes, const Arena::Piece& free);

  const int device_;
  size_t total_;
  const bool poison_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<ptrdiff_t> distance_{0};      ///< From an address to its view.
  std::atomic<const char*> begin_{nullptr}; ///< The addresses of now; empty before the first allocation.
  std::atomic<const char*> end_{nullptr};
  std::atomic<bool> everReset_{false};
  static inline std::atomic<bool> anyReset_{false};

  mutable std::shared_mutex mutex_; ///< Guards all below.
  std::shared_ptr<Space> space_;
  Arena arena_;
  Arena foreign_;                            ///< Of the addresses behind the device's own.
  std::map<const char*, size_t> blocks_;     ///< Base → size asked for.
  std::map<const char*, SharedFile> shared_; ///< Of those that have been shared.
  size_t used_ = 0;
  size_t highWater_ = 0; ///< Offset behind the last byte ever allocated in this space.
  std::vector<std::pair<const char*, const char*>> retired_;
};

} // namespace openreg
