// The empty table: each entry point answers "not implemented: NAME" for it, because the entry is null.
#include "table.h"

namespace openreg::fake {

const OrDriver& table() {
  static constexpr OrDriver kTable = [] {
    OrDriver it{};
    it.size = sizeof(OrDriver);
    it.version = OPENREG_DRIVER_VERSION;
    it.name = "fake";
    return it;
  }();
  return kTable;
}

} // namespace openreg::fake
