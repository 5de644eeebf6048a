// The vendor's codes as errors of the contract.
#pragma once

#include "openreg_driver.h"

#include <span>

namespace openreg::api {

/** @brief A code of the vendor's, and what it means to PyTorch. */
struct VendorCode {
  int code;
  orError_t error;
};

/// TODO: a row for each code that has a meaning here, above all for "no memory left" (orErrorMemoryAllocation: PyTorch
/// empties its caches and tries again) and "the device is gone" (orErrorDeviceLost).
constexpr VendorCode kVendorCodes[] = {
    {0, orSuccess},
};

/**
 * @brief What a call of the vendor's library has returned, as an error of the contract. Any thread.
 * @param call Name of that call, for the message.
 * @param code What it returned. One that the table lacks is ::orErrorVendor, with the number in its message.
 * @param text What the vendor says about the code.
 * @param table The codes that have a meaning.
 */
inline orError_t
vendorError(const char* call, int code, const char* text, std::span<const VendorCode> table = kVendorCodes) {
  for (const VendorCode& row : table) {
    if (row.code == code) {
      return row.error == orSuccess ? orSuccess : orDriverError(row.error, "%s: %s", call, text);
    }
  }
  return orDriverError(orErrorVendor, "%s returned %d: %s", call, code, text);
}

} // namespace openreg::api
