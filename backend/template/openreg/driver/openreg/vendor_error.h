// The vendor's codes as errors of the contract.
#pragma once

#include "openreg_driver.h"

namespace openreg::api {

/**
 * @brief What a call of the vendor's library has returned, as an error of the contract. Any thread.
 * @param call Name of that call, for the message.
 * @param code What it returned.
 * @param text What the vendor says about the code.
 */
inline orError_t vendorError(const char* call, int code, const char* text) {
  switch (code) {
    case 0:
      return orSuccess;
    // TODO: a case for each code that has a meaning here, above all for "no memory left" (orErrorMemoryAllocation:
    // PyTorch empties its caches and tries again) and "the device is gone" (orErrorDeviceLost).
    default:
      return orDriverError(orErrorVendor, "%s returned %d: %s", call, code, text);
  }
}

} // namespace openreg::api
