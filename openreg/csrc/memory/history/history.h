// The history of a device's memory: the last actions of the allocator, and where in the program each was asked for.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/macros/Export.h>

#include <deque>
#include <limits>
#include <memory>
#include <vector>

namespace openreg {

using c10::CachingDeviceAllocator::RecordContext;
using c10::CachingDeviceAllocator::TraceEntry;
using Context = std::shared_ptr<c10::GatheredContext>;

// LITERALINCLUDE START: HISTORY
/// What is recorded.
struct HistorySettings {
  bool enabled = false;
  RecordContext stacks = RecordContext::NEVER; // of which actions
  bool nativeFrames = false;                   // C++ beside Python
  size_t maxEntries = std::numeric_limits<size_t>::max();
};

/** @brief Takes new settings for all devices. Off, each action of the allocator costs a load or two. Any thread. */
void setHistory(const HistorySettings& settings);

/**
 * @brief Where in the program this thread asks the allocator for something, as long as the object lives.
 *
 * Make it before you take a lock: walking the stack of Python takes the GIL.
 */
class Origin {
 public:
  /** @brief Walks the stack, if history is recorded with the stacks of at least such actions. Never throws. */
  explicit Origin(RecordContext actions) noexcept;
  ~Origin();
  C10_DISABLE_COPY_AND_ASSIGN(Origin);

  /** @brief What the innermost Origin of the calling thread has found; null if that is nothing. Costs no lock. */
  static Context here();

 private:
  Context context_;
  const Origin* outer_ = nullptr;
  bool walked_ = false;
};

/** @brief The last actions on the memory of one device. Not thread-safe: DeviceMemory holds its lock. */
class History {
 public:
  /** @brief Adds an action, if history is recorded; the oldest one goes where there are more than are wanted. */
  void record(TraceEntry::Action action, size_t address, size_t size, void* stream, const Context& context);

  /** @brief All that is kept, oldest first. */
  std::vector<TraceEntry> entries() const { return {entries_.begin(), entries_.end()}; }

  void clear() { entries_.clear(); }

 private:
  std::deque<TraceEntry> entries_;
};
// LITERALINCLUDE END: HISTORY

} // namespace openreg
