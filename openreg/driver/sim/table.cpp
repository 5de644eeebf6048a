// The simulator's table.
#include "common/table.h"
#include "api/built_in.h"
#include "common/controls.h"
#include "simulator.h"

namespace openreg::api {

constinit const BuiltIn simDriver{tableOf<sim::Simulator>("sim"), &controlsOf<sim::Simulator>};

} // namespace openreg::api
