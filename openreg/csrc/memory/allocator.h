// Where device memory comes from.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

namespace openreg {

/** @brief The allocator of this backend: memory of the calling thread's current device. Any thread. */
c10::Allocator* allocator();

/**
 * @brief Tells that `stream` works on memory that was allocated for another: it stays untouched after its tensor is
 *        gone until the stream has done what is queued by then. Does not block. Any thread.
 *
 * Memory that is not from this allocator (and so is not used again by it) is left alone.
 * @throws c10::ValueError if the stream is not of this backend.
 * @throws c10::AcceleratorError if the device has failed.
 */
void recordStream(const c10::DataPtr& data, c10::Stream stream);

} // namespace openreg
