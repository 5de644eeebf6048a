// The simulator as a driver.
#pragma once

#include "openreg_driver.h"

namespace openreg::sim {

/// The table of the simulator. Starts nothing.
const OrDriver& table();

} // namespace openreg::sim
