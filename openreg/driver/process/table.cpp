// The table of the driver "process".
#include "table.h"

#include "common/table.h"
#include "host.h"

namespace openreg::process {

const OrDriver& table() {
  static constexpr OrDriver kTable = tableOf<Host>("process");
  return kTable;
}

} // namespace openreg::process
