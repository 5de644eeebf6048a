// Devices: how many, which is current on this thread, wait for one. Everything above goes through these functions.
#pragma once

#include <openreg.h>

#include <c10/core/Device.h>
#include <c10/macros/Export.h>

#include <cstddef>
#include <limits>

namespace openreg {

/// The type that PyTorch keeps for a backend outside its tree. Python sees it under the name of the rename, "openreg".
constexpr c10::DeviceType kDeviceType = c10::DeviceType::PrivateUse1;

/// As many devices as a c10::DeviceIndex can name.
constexpr size_t kMaxDevices = std::numeric_limits<c10::DeviceIndex>::max() + 1;

// LITERALINCLUDE START: DEVICE FUNCTIONS
/**
 * @brief Number of devices; 0, and one warning in a process, if the driver is missing or cannot tell. Starts nothing.
 * Any thread.
 *
 * Does not throw: PyTorch asks it in places where an exception ends the process.
 */
C10_EXPORT c10::DeviceIndex deviceCount() noexcept;

/**
 * @brief Number of devices. Starts nothing. Any thread.
 * @throws c10::AcceleratorError with the driver's reason; c10::Error if there are none.
 */
C10_EXPORT c10::DeviceIndex deviceCountEnsureNonZero();

/** @brief Index of the calling thread's current device. @throws c10::AcceleratorError in a forked child. */
C10_EXPORT c10::DeviceIndex currentDevice();

/** @brief Makes a device current on the calling thread. @throws c10::AcceleratorError if there is no such device. */
C10_EXPORT void setDevice(c10::DeviceIndex device);

/** @brief setDevice() that returns the device current before. A negative index changes nothing. */
C10_EXPORT c10::DeviceIndex exchangeDevice(c10::DeviceIndex device);

/**
 * @brief Index of a device that may be without one ("openreg" alone means the current device).
 * @throws c10::Error if it is of another type or does not exist.
 */
C10_EXPORT c10::DeviceIndex resolveIndex(c10::Device device);

/**
 * @brief Blocks until the work of all streams of this device is done; waits for no other device.
 * @throws c10::AcceleratorError with the device's asynchronous error, if one of its kernels failed.
 */
C10_EXPORT void synchronize(c10::DeviceIndex device);

/** @brief Properties of a device. Does not initialise it. @throws c10::AcceleratorError if there is no such device. */
C10_EXPORT orDeviceProp deviceProperties(c10::DeviceIndex device);

/** @brief Whether this process was forked from one that had used a device, and so cannot use any. */
C10_EXPORT bool inBadFork() noexcept;
// LITERALINCLUDE END: DEVICE FUNCTIONS

} // namespace openreg
