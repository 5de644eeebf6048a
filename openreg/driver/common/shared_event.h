// Events that several processes record and wait for.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "common/memory/mapping.h"
#include "common/memory/shared_file.h"
#include "openreg.h"

namespace openreg {

/// What an interprocess event is, whoever has it open: a page with the number of its latest version, and which versions
/// are complete. Any thread of any of the processes.
class SharedEvent {
 public:
  /// A new one, never recorded. Throws std::system_error.
  static std::shared_ptr<SharedEvent> create();

  /// The one that another process has named. Refuses the call if there is none.
  static std::shared_ptr<SharedEvent> open(const orIpcEventHandle& handle);

  /// What names it to other processes; nothing if it came from one.
  std::optional<orIpcEventHandle> handle() const;

  /// The latest version; 0 if it was never recorded.
  uint64_t latest() const { return page().latest.load(); }

  /// Begins a version; its number.
  uint64_t record();

  /// The work before that version is done.
  void complete(uint64_t version);

  /// Whether it is, or never will be because the process that recorded last has ended. There are so many numbers kept;
  /// a version counts as complete when the one recorded 256 later is.
  bool isComplete(uint64_t version) const;

  /// Blocks until it is, or `released(data)`, which is asked again and again.
  void wait(uint64_t version, bool (*released)(void* data), void* data) const;

 private:
  struct Page {
    std::atomic<uint64_t> latest{0};
    std::atomic<uint32_t> changes{0}; ///< Of what follows: who waits sleeps on it.
    std::atomic<int32_t> recorder{0}; ///< The process that recorded last.
    std::array<std::atomic<uint64_t>, 256> complete{};
  };

  explicit SharedEvent(int file);
  Page& page() const { return *reinterpret_cast<Page*>(view_.begin()); }
  bool isMarked(uint64_t version) const;

  SharedFile file_; ///< None if another process has made it: a view is enough.
  Mapping view_;
};

} // namespace openreg
