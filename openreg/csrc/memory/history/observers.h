// Functions that are called when a device has no memory left, before the error is raised.
#pragma once

#include "memory/out_of_memory.h"

#include <c10/macros/Export.h>

#include <functional>

namespace openreg {

/// Gets the device, what was asked for, what this process may reserve, and what the driver has free: bytes.
using OutOfMemoryObserver = std::function<void(c10::DeviceIndex device, size_t asked, size_t limit, size_t free)>;

/**
 * @brief Adds a function that is called, by the thread that has found no memory, before it throws OutOfMemoryError.
 *
 * It may allocate, and may fail: what it throws becomes a warning. It is kept for ever. Any thread.
 */
C10_EXPORT void attachOutOfMemoryObserver(OutOfMemoryObserver observer);

/** @brief Calls them in the order in which they came. Hold no lock: they may take Python's GIL, and allocate. */
void callOutOfMemoryObservers(const Shortage& shortage, size_t free);

} // namespace openreg
