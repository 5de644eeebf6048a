// Events that two processes share, as objects of PyTorch.
#pragma once

#include <c10/core/Event.h>
#include <c10/macros/Export.h>
#include <openreg.h>

#include <string>

namespace openreg {

/**
 * @brief Makes an event of `device` that other processes can open, and gives it to `event`. Does not block.
 * @param event Has never been recorded, and is without time stamp.
 * @throws c10::NotImplementedError if the driver has no events; c10::AcceleratorError with the driver's reason.
 */
C10_EXPORT void makeShared(c10::Event& event, c10::DeviceIndex device);

/**
 * @brief The bytes of an orIpcEventHandle, valid as long as this process has the event. Does not block.
 * @throws c10::ValueError if the event is not of makeShared().
 * @throws c10::NotImplementedError if the driver cannot share events; c10::AcceleratorError with its reason.
 */
C10_EXPORT std::string sharedHandle(const c10::Event& event);

/**
 * @brief Opens the event that another process has named, on `device`, and gives it to `event`. Does not block.
 * @param event Has never been recorded, and is without time stamp.
 * @throws c10::ValueError if `handle` has another number of bytes; otherwise as sharedHandle().
 */
C10_EXPORT void openShared(c10::Event& event, c10::DeviceIndex device, const std::string& handle);

/** @brief The driver's event that the calling thread is giving to one of PyTorch's; null if there is none. */
orEvent_t takeGiven() noexcept;

} // namespace openreg
