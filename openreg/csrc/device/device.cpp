// Devices: how many, which is current on this thread, wait for one.
#include "device/device.h"

#include "device/device_name.h"
#include "device/error.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>

namespace openreg {
namespace {

// A DeviceIndex has eight bits. More devices than that can't be named, so they are not offered.
c10::DeviceIndex toIndex(int number) {
  return static_cast<c10::DeviceIndex>(std::min<int>(number, std::numeric_limits<c10::DeviceIndex>::max()));
}

} // namespace

// LITERALINCLUDE START: DEVICE COUNT
c10::DeviceIndex deviceCount() noexcept {
  int count = 0;
  if (orGetDeviceCount(&count) != orSuccess) {
    // A program that falls back to the CPU when there is no device is to learn why there is none.
    TORCH_WARN_ONCE(kDeviceName, ": no device is available: ", orGetLastErrorMessage());
    (void)orGetLastError();
    return 0;
  }
  return toIndex(count);
}

c10::DeviceIndex deviceCountEnsureNonZero() {
  int count = 0;
  check(orGetDeviceCount(&count));
  TORCH_CHECK(count > 0, kDeviceName, ": no device available; the driver found 0 devices");
  return toIndex(count);
}
// LITERALINCLUDE END: DEVICE COUNT

c10::DeviceIndex currentDevice() {
  int device = 0;
  check(orGetDevice(&device));
  return toIndex(device);
}

void setDevice(c10::DeviceIndex device) {
  check(orSetDevice(device));
}

// LITERALINCLUDE START: EXCHANGE DEVICE
c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) {
  const auto before = currentDevice();
  // Guards are made around every operator; nearly always the device is current already.
  if (device >= 0 && device != before) {
    setDevice(device);
  }
  return before;
}
// LITERALINCLUDE END: EXCHANGE DEVICE

c10::DeviceIndex resolveIndex(c10::Device device) {
  TORCH_CHECK(
      device.type() == kDeviceType, kDeviceName, ": expected a device of type ", kDeviceName, ", but got ", device);
  if (!device.has_index()) {
    return currentDevice();
  }
  const auto count = deviceCountEnsureNonZero();
  // In the words of PyTorch's own devices, for which people search and programs look.
  TORCH_CHECK(
      device.index() < count, kDeviceName, ": The device index is out of range: expected 0 to ", count - 1,
      ", but got ", static_cast<int>(device.index()));
  return device.index();
}

void synchronize(c10::DeviceIndex device) {
  check(orDeviceSynchronize(device));
}

orDeviceProp deviceProperties(c10::DeviceIndex device) {
  orDeviceProp properties{};
  check(orGetDeviceProperties(&properties, device));
  return properties;
}

bool inBadFork() noexcept {
  int device = 0;
  return orGetDevice(&device) == orErrorForked;
}

} // namespace openreg
