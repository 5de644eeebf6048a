// From PyTorch's stream to the driver's.
#pragma once

#include <openreg.h>

#include <c10/core/Stream.h>
#include <c10/macros/Export.h>

namespace openreg {

/**
 * @brief The driver's handle of a stream. Does not block.
 * @throws c10::Error if the device has no stream of that number; c10::AcceleratorError if the device has failed.
 */
C10_EXPORT orStream_t streamHandle(const c10::Stream& stream);

/** @brief The driver's handle of the calling thread's current stream of `device`. */
C10_EXPORT orStream_t currentStreamHandle(c10::DeviceIndex device);

} // namespace openreg
