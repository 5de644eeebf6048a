// Order between our streams and those of other libraries.
#pragma once

#include <c10/core/Device.h>
#include <c10/macros/Export.h>

#include <cstdint>

namespace openreg {

// LITERALINCLUDE START: STREAM ORDER
/**
 * @brief Makes a stream wait for the work that the calling thread's current stream of a device has by now. Does not
 *        block.
 * @param device Index of the device.
 * @param stream An orStream_t as a number, whoever has made it. 0: the default stream of `device`.
 * @throws c10::AcceleratorError if the driver knows no such stream.
 */
C10_EXPORT void orderAfterCurrent(c10::DeviceIndex device, uint64_t stream);
// LITERALINCLUDE END: STREAM ORDER

} // namespace openreg
