// The empty table: each entry point answers "not implemented: NAME" for it, because the entry is null.
#include "api/built_in.h"

namespace openreg::api {

constinit const BuiltIn fakeDriver = [] {
  BuiltIn it{};
  it.table.size = sizeof(OrDriver);
  it.table.version = OPENREG_DRIVER_VERSION;
  it.table.name = "fake";
  return it;
}();

} // namespace openreg::api
