// The caching allocator: what of it is not in PyTorch's interface.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/macros/Export.h>

namespace openreg {

/**
 * @brief Limits what this process may reserve of a device's memory. Frees nothing by itself.
 * @param fraction Share of the device's memory, from 0 to 1.
 * @throws c10::ValueError if it is not.
 */
C10_EXPORT void setMemoryFraction(double fraction, c10::DeviceIndex device);

/** @brief The share of a device's memory that this process may reserve; 1 if nothing was said. */
C10_EXPORT double memoryFraction(c10::DeviceIndex device);

/** @brief Gives the cached memory of all devices back to their drivers. Waits for them: release the GIL. */
C10_EXPORT void emptyCache();

} // namespace openreg
