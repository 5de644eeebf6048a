// The controls of openreg_sim.h, as far as a driver has to do something for them.
#pragma once

#include <cstdint>

#include "openreg_sim.h"

namespace openreg::api {

/// What a driver with a simulated device does for the function of openreg_sim.h of the same name. Arguments have been
/// checked as in openreg_driver.h, and times are in nanoseconds here, as drivers count them.
struct Controls {
  orError_t (*SetDelay)(int device, int64_t kernelNs, int64_t copyNs);
  orError_t (*LoseDevice)(int device);
  orError_t (*ThreadCount)(int* count);
};

/// The error of that name ("orErrorMemoryAllocation"); orSuccess if there is none.
orError_t errorOfName(const char* name);

} // namespace openreg::api
