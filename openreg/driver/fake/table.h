// A driver that has nothing yet.
#pragma once

#include "openreg_driver.h"

namespace openreg::fake {

/// Its table: a name, and not one entry. The to-do list of a port, and where one starts.
const OrDriver& table();

} // namespace openreg::fake
