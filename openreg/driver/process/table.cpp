// The table of the driver "process".
#include "table.h"

#include "common/controls.h"
#include "common/table.h"
#include "host.h"

namespace openreg::process {

const OrDriver& table() {
  static constexpr OrDriver kTable = tableOf<Host>("process");
  return kTable;
}

const api::Controls& controls() {
  return controlsOf<Host>;
}

} // namespace openreg::process
