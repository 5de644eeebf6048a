// The streams of a device beyond the default stream: a fixed number for each priority, made when they are first needed.
#pragma once

#include <openreg.h>

#include <c10/core/Stream.h>

namespace openreg {

// LITERALINCLUDE START: STREAM POOL
/**
 * @brief The next stream of a device's pool. Does not block.
 *
 * PyTorch's streams are numbers that are copied freely and never given back, so there is a fixed number of them, handed
 * out in turn: the 33rd is the first again. Any thread.
 * @param device Index of a device that exists. Need not be the current one.
 * @param priority Smaller is served first; clamped into the device's range.
 * @throws c10::AcceleratorError if the device has failed or has no room for another stream.
 */
c10::Stream nextStream(c10::DeviceIndex device, int priority);

/**
 * @brief The driver's handle of a stream from nextStream(); null for a number that it has never returned.
 *
 * Of a stream from before a reset of the device it may be a handle that the driver doesn't know any more.
 */
orStream_t findStream(c10::DeviceIndex device, c10::StreamId id) noexcept;

// LITERALINCLUDE START: FIND NUMBER DECLARED
/** @brief The other way round, as for a trace: the number of the driver's handle; -1 for one that isn't of the pool. */
c10::StreamId findNumber(c10::DeviceIndex device, orStream_t handle) noexcept;

// LITERALINCLUDE END: FIND NUMBER DECLARED
/** @brief Whether nextStream() may have returned this number before the device was reset. */
bool isFromBeforeReset(c10::DeviceIndex device, c10::StreamId id) noexcept;
// LITERALINCLUDE END: STREAM POOL

} // namespace openreg
