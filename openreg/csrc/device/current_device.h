// The current device, for the time of a call.
#pragma once

#include "device/device.h"

#include <c10/macros/Macros.h>

namespace openreg {

// LITERALINCLUDE START: CURRENT DEVICE
/// A device guard for a hot path: c10::OptionalDeviceGuard finds the backend in a table and calls it three times, also
/// where the device is current already, as it nearly always is.
class CurrentDevice {
 public:
  CurrentDevice() = default;
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  ~CurrentDevice() {
    if (C10_UNLIKELY(before_ != now_)) {
      (void)orSetDevice(before_);
    }
  }

  void set(c10::DeviceIndex device) {
    const auto before = exchangeDevice(device);
    before_ = now_ < 0 ? before : before_;
    now_ = device;
  }

 private:
  c10::DeviceIndex before_ = -1;
  c10::DeviceIndex now_ = -1;
};
// LITERALINCLUDE END: CURRENT DEVICE

} // namespace openreg
