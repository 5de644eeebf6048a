// A forked child has the parent's memory but none of its threads, so a used device cannot work there.
#pragma once

#include <mutex>

namespace openreg::api {

/// Guards loading the driver and planning failures. Held over a fork, so that the child finds it free.
std::mutex& configurationMutex();

/// From now on a child of this process knows whether a device had been used. Called once, when the driver is loaded.
void watchForks();

/// Remembers that a device has been used, even if it is about to be reset.
void noteUse(int device);

} // namespace openreg::api
