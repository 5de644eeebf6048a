// Which stream each thread uses on each device.
#pragma once

#include <c10/core/Stream.h>

namespace openreg {

/**
 * @brief The calling thread's current stream of a device: the one that its operators and copies are queued on.
 * @param device Index of a device that exists.
 */
c10::Stream currentStream(c10::DeviceIndex device);

/** @brief The default stream of a device. @param device Index of a device that exists. */
c10::Stream defaultStream(c10::DeviceIndex device);

/**
 * @brief Makes `stream` the calling thread's current stream of its device.
 * @return The stream that was current there before.
 * @throws c10::Error if the stream is not of this backend or its device does not exist.
 */
c10::Stream exchangeCurrentStream(c10::Stream stream);

} // namespace openreg
