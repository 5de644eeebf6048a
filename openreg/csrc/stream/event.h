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
 * @throws c10::AcceleratorError if the device has failed.
 */
inline orEvent_t createEvent(c10::DeviceIndex device, unsigned int flags) {
  const c10::DeviceGuard guard({c10::DeviceType::PrivateUse1, device});
  orEvent_t event = nullptr;
  check(orEventCreateWithFlags(&event, flags));
  return event;
}

/**
 * @brief Owns an orEvent_t without time stamp. Nothing here blocks the host.
 *
 * It may be destroyed as soon as its last record and block are queued.
 */
class Event {
 public:
  /** @brief Makes an event of `device`. @throws c10::AcceleratorError if the device has failed. */
  explicit Event(c10::DeviceIndex device) : event_(createEvent(device, orEventDisableTiming)) {}
  ~Event() {
    (void)orEventDestroy(event_); // nothing can be done about an error here
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /** @brief Completes once the work queued on `stream` so far is done. @param stream Stream of the event's device. */
  void record(orStream_t stream) const { check(orEventRecord(event_, stream)); }
  /** @brief Makes later work of `stream`, of any device, wait for the last record(). */
  void block(orStream_t stream) const { check(orStreamWaitEvent(stream, event_, 0)); }

 private:
  orEvent_t event_;
};

} // namespace openreg
