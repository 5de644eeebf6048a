// Device code by name: finding a kernel of the driver.
#include "ops/launch/kernel.h"

#include "device/device_name.h"
#include "device/reset.h"

#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <mutex>
#include <vector>

namespace openreg {
namespace {

// LITERALINCLUDE START: FORGET KERNELS
/// What has been found, so that a reset of the device can have it asked for again.
struct Found {
  std::mutex mutex;
  std::array<std::vector<std::atomic<orKernel_t>*>, kMaxDevices> places;
};

Found& found() {
  static auto& all = *new Found; // kernels are looked up as long as the process lives
  return all;
}

/// Keeps a kernel in its place, unless the device has been reset since that `life`.
void keep(std::atomic<orKernel_t>& place, orKernel_t kernel, c10::DeviceIndex device, uint64_t life) {
  auto& [mutex, places] = found();
  const std::lock_guard lock(mutex);
  if (lifeOf(device) == life && place.load(std::memory_order_relaxed) == nullptr) {
    places[static_cast<uint8_t>(device)].push_back(&place);
    place.store(kernel, std::memory_order_relaxed);
  }
}

const OnReset forgetKernels([](c10::DeviceIndex device) {
  auto& [mutex, places] = found();
  const std::lock_guard lock(mutex);
  for (auto* place : places[static_cast<uint8_t>(device)]) {
    place->store(nullptr, std::memory_order_relaxed);
  }
  places[static_cast<uint8_t>(device)].clear();
});
// LITERALINCLUDE END: FORGET KERNELS

// LITERALINCLUDE START: FIND KERNEL
// Stand for "asked, and there is no such kernel" and "asked, and there are no kernels". Their addresses are no handles
// of the driver's.
const char none = 0, noEntry = 0;
const auto kNone = reinterpret_cast<orKernel_t>(const_cast<char*>(&none));
const auto kNoEntry = reinterpret_cast<orKernel_t>(const_cast<char*>(&noEntry));

orError_t ask(c10::DeviceIndex device, const char* name, orKernel_t& kernel) {
  const c10::DeviceGuard guard({kDeviceType, device}); // a module is loaded on the current device
  orModule_t module = nullptr;
  const auto error = orModuleLoad(&module, "openreg");
  return error == orSuccess ? orModuleGetKernel(&kernel, module, name) : error;
}

orKernel_t lookUp(c10::DeviceIndex device, const char* name) {
  orKernel_t kernel = nullptr;
  const auto error = ask(device, name, kernel);
  if (error == orErrorNotFound || error == orErrorNotImplemented) {
    (void)orGetLastError(); // an answer, not a failure
    return error == orErrorNotFound ? kNone : kNoEntry;
  }
  check(error);
  return kernel;
}

} // namespace

orKernel_t Kernel::find(c10::DeviceIndex device) const {
  auto& known = handles_[device];
  auto handle = known.load(std::memory_order_relaxed);
  if (C10_UNLIKELY(handle == nullptr)) {
    // Two threads that ask at the same time get the same answer.
    const auto life = lifeOf(device);
    handle = lookUp(device, name_);
    keep(known, handle, device, life);
  }
  return handle == kNone || handle == kNoEntry ? nullptr : handle;
}

orKernel_t Kernel::get(c10::DeviceIndex device) const {
  const auto handle = find(device);
  if (C10_UNLIKELY(handle == nullptr)) {
    throw MissingKernel(
        c10::str(
            kDeviceName, ": the driver of device ", static_cast<int>(device), " has no kernel '", name_, "'",
            missingEntry(device)));
  }
  return handle;
}

std::string Kernel::missingEntry(c10::DeviceIndex device) const {
  if (handles_[device].load(std::memory_order_relaxed) != kNoEntry) {
    return "";
  }
  orKernel_t kernel = nullptr;
  (void)ask(device, name_, kernel); // for its message; a driver without the entry is quick to say so
  const auto message = std::string(": ") + orGetLastErrorMessage();
  (void)orGetLastError(); // handled here
  return message;
}
// LITERALINCLUDE END: FIND KERNEL

} // namespace openreg
