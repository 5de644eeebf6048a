// Records of a driver's work, and where they go.
#pragma once

#include <atomic>

#include "api/state.h"
#include "openreg_driver.h"

namespace openreg {

/// What the call that the thread is in submits: a record with everything but its times. Its correlation is 0 if it is
/// not to be recorded.
inline orActivityRecord workOf(orActivityKind kind, const char* name, uint64_t bytes = 0) {
  return {
      .size = sizeof(orActivityRecord),
      .kind = kind,
      .device = -1,
      .stream = nullptr,
      .correlation = api::thread.correlation,
      .startNs = 0,
      .endNs = 0,
      .name = name,
      .bytes = bytes,
      .direction = orMemcpyDefault,
      .host = orMemoryTypeUnregistered,
      .peer = -1,
      .address = nullptr};
}

/// Where a driver delivers its records.
class Activity {
 public:
  void start(orActivityFn_t function, void* userData) {
    userData_.store(userData);
    function_.store(function);
  }

  /// A worker may be delivering a record. It needn't be waited for: the function is the library's own, which looks who
  /// still listens (api/activity.cpp).
  void stop() { function_.store(nullptr); }

  void deliver(const orActivityRecord& record) const {
    if (const orActivityFn_t function = function_.load()) {
      function(&record, userData_.load());
    }
  }

 private:
  std::atomic<orActivityFn_t> function_{nullptr};
  std::atomic<void*> userData_{nullptr};
};

} // namespace openreg
