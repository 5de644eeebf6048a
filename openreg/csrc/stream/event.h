// An event of the driver, for ordering the work of two streams.
#pragma once

#include "device/error.h"

#include <c10/core/DeviceGuard.h>
#include <openreg.h>

namespace openreg {

/**
 * @brief Makes an event of `device`, which need not be the current one. Does not block.
 * @param device Index of the device.
 * @param flags orEventDefault, or orEventDisableTiming.
 * @return The event. Null if the driver has no events and no time stamp is asked for: where it would be recorded, the
 * host waits. @see recordEvent()
 * @throws c10::NotImplementedError if the driver has no events and a time stamp is asked for; c10::AcceleratorError if
 * the device has failed.
 */
inline orEvent_t createEvent(c10::DeviceIndex device, unsigned int flags) {
  const c10::DeviceGuard guard({c10::DeviceType::PrivateUse1, device});
  orEvent_t event = nullptr;
  const auto error = orEventCreateWithFlags(&event, flags);
  if (error == orErrorNotImplemented && flags == orEventDisableTiming) {
    (void)orGetLastError(); // an answer, not a failure
    return nullptr;
  }
  check(error);
  return event;
}

/**
 * @brief Records an event of `device` on a stream. Without events (null) the host waits for the device here: then there
 * is nothing left to wait for, and null stands for an event that is complete.
 */
inline void recordEvent(orEvent_t event, orStream_t stream, c10::DeviceIndex device) {
  check(event != nullptr ? orEventRecord(event, stream) : orDeviceSynchronize(device));
}

/**
 * @brief Owns an orEvent_t without time stamp. Nothing here blocks the host, if the driver has events.
 *
 * It may be destroyed as soon as its last record and block are queued.
 */
class Event {
 public:
  /** @brief Makes an event of `device`. @throws c10::AcceleratorError if the device has failed. */
  explicit Event(c10::DeviceIndex device) : event_(createEvent(device, orEventDisableTiming)), device_(device) {}
  ~Event() {
    if (event_ != nullptr) {
      (void)orEventDestroy(event_); // nothing can be done about an error here
    }
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /** @brief Completes once the work queued on `stream` so far is done. @param stream Stream of the event's device. */
  void record(orStream_t stream) const { recordEvent(event_, stream, device_); }
  /** @brief Makes later work of `stream`, of any device, wait for the last record(). */
  void block(orStream_t stream) const {
    if (event_ != nullptr) {
      check(orStreamWaitEvent(stream, event_, 0));
    }
  }

 private:
  orEvent_t event_;
  c10::DeviceIndex device_;
};

} // namespace openreg
