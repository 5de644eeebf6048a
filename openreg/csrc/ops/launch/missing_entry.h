// Why a driver has no kernel of a name: for the texts of errors.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace openreg {

/**
 * @brief ": not implemented: orModuleLoad" if the device's driver has no kernels at all, as one that is being written;
 * "" if it has, and just not this one.
 */
std::string missingEntry(c10::DeviceIndex device, const char* kernel);

} // namespace openreg
