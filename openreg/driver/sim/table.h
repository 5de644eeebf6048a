// The simulator as a driver.
#pragma once

#include "api/control.h"
#include "openreg_driver.h"

namespace openreg::sim {

/// The table. Starts nothing.
const OrDriver& table();

/// What openreg_sim.h does for it.
const api::Controls& controls();

} // namespace openreg::sim
