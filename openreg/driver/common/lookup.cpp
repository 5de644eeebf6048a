// Messages about handles.
#include "lookup.h"

#include <cstring>

#include "handle.h"
#include "openreg_driver.h"

namespace openreg {

orError_t invalidHandle(const char* argument, const char* expected, uint64_t handle) {
  if (handle == 0) {
    return orDriverError(orErrorInvalidHandle, "argument '%s' is null; expected %s", argument, expected);
  }
  const char* kind = kindOf(handle);
  const auto shown = static_cast<unsigned long long>(handle);
  if (kind == nullptr) {
    return orDriverError(
        orErrorInvalidHandle, "argument '%s' is 0x%llx, which no call here has returned; expected %s", argument, shown,
        expected);
  }
  if (std::strcmp(kind, expected) != 0) {
    return orDriverError(
        orErrorInvalidHandle, "argument '%s' is 0x%llx, which is %s; expected %s", argument, shown, kind, expected);
  }
  return orDriverError(
      orErrorInvalidHandle,
      "argument '%s' is 0x%llx, which was destroyed, or made before its device was reset; expected %s", argument, shown,
      expected);
}

} // namespace openreg
