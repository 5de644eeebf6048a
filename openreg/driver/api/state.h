// What every entry point looks at first: is there anything unusual, and who is calling?
#pragma once

#include <atomic>
#include <cstdint>

#include "openreg.h"

namespace openreg::api {

/// Reasons for an entry point to leave its fast path. They are bits of one word so that the usual call pays one load.
enum Attention : unsigned {
  kNotLoaded = 1,      ///< No driver has been chosen yet.
  kForked = 2,         ///< This process is the child of one that had used a device.
  kFailurePlanned = 4, ///< orSimFailCall or OPENREG_SIM wants some call to fail.
  kListening = 8       ///< Somebody has subscribed to activity.
};

inline constinit std::atomic<unsigned> attention{kNotLoaded};

/// Lengths of texts; a longer one is cut. They are part of the thread's state, because an error must not need memory.
constexpr int kMessageBytes = 1024;

/// What each host thread has of its own. Trivial on purpose: it needs no destructor, so calls made while a thread ends
/// (from destructors of other thread-local objects) still work.
struct ThreadState {
  int device = 0;                       ///< The current device.
  uint64_t correlation = 0;             ///< Number of the recorded call that the thread is in; 0: of none.
  orError_t lastError = orSuccess;      ///< What orGetLastError returns.
  orError_t describedError = orSuccess; ///< The code that came with `description`; orSuccess if there is none.
  char message[kMessageBytes] = "";     ///< What orGetLastErrorMessage returns.
  char description[kMessageBytes] = ""; ///< From orDriverError, waiting for the entry point to put its name in front.
};

inline thread_local constinit ThreadState thread;

/// True in a child forked from a process that had used a device. Free and destroy do nothing there.
inline bool inForkedChild() {
  return (attention.load(std::memory_order_relaxed) & kForked) != 0;
}

} // namespace openreg::api
