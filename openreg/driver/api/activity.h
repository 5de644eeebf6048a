// Activity: calls that are recorded while somebody listens.
#pragma once

#include "entry.h"

namespace openreg::api {

// LITERALINCLUDE START: RECORDED ENTRY
/// An entry point whose calls are recorded. If nobody listens that costs one comparison.
class RecordedEntry : public Entry {
 public:
  explicit RecordedEntry(const char* name, orActivityKind kind = orActivityCall) : Entry(name) {
    if ((attention.load(std::memory_order_relaxed) & kListening) != 0) [[unlikely]] {
      begin(kind);
    }
  }
  ~RecordedEntry() {
    if (startNs_ != 0) [[unlikely]] {
      end();
    }
  }
  RecordedEntry(const RecordedEntry&) = delete;
  RecordedEntry& operator=(const RecordedEntry&) = delete;

  bool recorded() const { return startNs_ != 0; }

  /// What an allocation was, or what is about to be freed.
  void memory(int device, const void* address, uint64_t bytes) {
    device_ = device;
    address_ = address;
    bytes_ = bytes;
  }

 private:
  void begin(orActivityKind kind);
  void end();

  int64_t startNs_ = 0; ///< 0: not recorded.
  orActivityKind kind_ = orActivityCall;
  int device_ = -1;
  const void* address_ = nullptr;
  uint64_t bytes_ = 0;
};
// LITERALINCLUDE END: RECORDED ENTRY

/// This process is a forked child: the threads that were in a callback are not there, and nobody listens if the device
/// cannot be used any more.
void forgetListeners(bool unusable);

} // namespace openreg::api
