// The table of the driver "process".
#include "common/table.h"
#include "api/built_in.h"
#include "common/controls.h"
#include "host.h"

namespace openreg::api {

constinit const BuiltIn processDriver{tableOf<process::Host>("process"), &controlsOf<process::Host>};

} // namespace openreg::api
