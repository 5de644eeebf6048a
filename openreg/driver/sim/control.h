// Controls for tests, as far as other parts of the simulator need them.
#pragma once

#include "openreg.h"

namespace openreg::sim {

/// The error of that name ("orErrorMemoryAllocation"); orSuccess if there is none.
orError_t errorOfName(const char* name);

} // namespace openreg::sim
