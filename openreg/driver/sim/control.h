// The simulator's controls.
#pragma once

#include "api/control.h"

namespace openreg::sim {

/// What openreg_sim.h does where the simulator is the driver.
const api::Controls& controls();

} // namespace openreg::sim
