// Pinned host memory: a range that the host has mapped, and executors where they copy.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "common/memory/arena.h"
#include "common/memory/memory.h"
#include "common/visits.h"
#include "objects.h"
#include "openreg.h"
#include "wire/channel.h"
#include "wire/shared_memory.h"

namespace openreg::process {

constexpr size_t kInFlight = 4; ///< Chunks of one copy: one side fills the next while the other empties the last.

/// Pinning means: the device can reach it by itself. Here an executor copies from and to these pages without the host,
/// and a copy names them by their offset in the range. It maps a block when the first copy needs it: what it has not
/// been handed, it cannot spoil. A forked child still reads what is in them, as in any memory of the host; what it
/// writes stays its own.
class Pinned {
 public:
  Pinned();

  int descriptor() const { return memory_.number(); }
  size_t bytes() const { return view_.bytes(); }

  /// Null if there is not enough.
  void* allocate(size_t size, int device);

  /// Waits until no queued copy uses the block. False if `ptr` is not the start of a live block.
  bool release(void* ptr);

  /// The block in which `ptr` lies.
  std::optional<PinnedBlock> find(const void* ptr) const;

  /// The offset in the range of memory that is or was pinned.
  uint64_t offsetOf(const void* ptr) const {
    return static_cast<uint64_t>(static_cast<const char*>(ptr) - view_.begin());
  }

  /// Whether [ptr, ptr + size) lies in one block; if so, its offset in the range.
  std::optional<uint64_t> offsetOf(const void* ptr, size_t size) const;

  /// Sees to it that the executor of `device` has the block mapped in which `ptr` lies.
  void open(const void* ptr, Device& device);

  /// Memory through which an executor copies what it cannot reach, for one copy; the next one of the device gets the
  /// same. Not another device's: what one executor has mapped, another cannot read.
  class Bounce {
   public:
    Bounce(Pinned& from, int device); ///< Throws std::bad_alloc.
    ~Bounce();                        ///< Waits until the executor uses none of it any more.
    Bounce(const Bounce&) = delete;
    Bounce& operator=(const Bounce&) = delete;
    char* bytes() const { return bytes_; }

    std::array<Point, kInFlight> busy{}; ///< Until when each chunk's place is in use.

   private:
    Pinned& from_;
    const int device_;
    char* bytes_ = nullptr;
  };

  /// A queued copy uses the block in which `ptr` lies; it is done at `point`.
  void addUse(const void* ptr, const Point& point);

 private:
  struct Entry {
    size_t size;
    int device;
    std::array<uint64_t, kMaxDevices> openIn{}; ///< 1 + the life of each device whose executor has it mapped; or 0.
    Visits<Point> uses;
    bool leaving = false; ///< Somebody waits to free it: a second free finds it gone.
  };
  using Blocks = std::map<const char*, Entry>;

  void keepForChild();
  Blocks::const_iterator blockOf(const void* ptr, size_t size) const;
  bool covers(const void* ptr) const { return ptr >= view_.begin() && ptr < view_.begin() + view_.bytes(); }

  Descriptor memory_;
  View view_; ///< Without access but where something is allocated.
  mutable std::mutex mutex_;
  Arena arena_;
  Blocks blocks_;
  std::array<std::vector<char*>, kMaxDevices> spare_; ///< For Bounce, by device.
};

} // namespace openreg::process
