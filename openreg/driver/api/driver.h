// The driver that serves this process: chosen by OPENREG_DRIVER at the first call that needs it, and then for good.
#pragma once

#include <atomic>
#include <string>

#include "control.h"
#include "openreg_driver.h"

namespace openreg::api {

/// A loaded driver.
struct Driver {
  OrDriver table{};    ///< A copy, with null for every entry that the driver's own (shorter) table does not have.
  int count = 0;       ///< Number of devices; 0 if the driver cannot tell.
  std::string whyNone; ///< What the driver says of that, if there is none.
  const Controls* controls = nullptr; ///< Null where nothing is simulated.
  bool launchBlocking = false;        ///< OPENREG_LAUNCH_BLOCKING=1: asynchronous calls wait for their work.
};

inline constinit std::atomic<const Driver*> loadedDriver{nullptr};

/// Chooses and loads the driver unless that is done. `entry` is the function in whose name an error is reported.
orError_t loadDriver(const char* entry);

/// The loaded driver. Only after loadDriver has succeeded, which Entry sees to.
inline const Driver& driver() {
  return *loadedDriver.load(std::memory_order_acquire);
}

} // namespace openreg::api
