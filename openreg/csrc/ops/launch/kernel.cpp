// Device code by name: finding a kernel of the driver.
#include "ops/launch/kernel.h"

#include "device/reset.h"
#include "ops/launch/missing_entry.h"

#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>

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
// Stands for "asked, and there is none". Its address is no handle of the driver's.
const char none = 0;
const auto kNone = reinterpret_cast<orKernel_t>(const_cast<char*>(&none));

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
    return kNone;
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
  return handle == kNone ? nullptr : handle;
}

orKernel_t Kernel::get(c10::DeviceIndex device) const {
  const auto handle = find(device);
  TORCH_CHECK_NOT_IMPLEMENTED(
      handle != nullptr, "openreg: the driver of device ", static_cast<int>(device), " has no kernel '", name_, "'",
      missingEntry(device, name_));
  return handle;
}

std::string missingEntry(c10::DeviceIndex device, const char* kernel) {
  orKernel_t handle = nullptr;
  const auto error = ask(device, kernel, handle);
  const auto text = error == orErrorNotImplemented ? std::string(": ") + orGetLastErrorMessage() : "";
  (void)orGetLastError(); // handled here
  return text;
}
// LITERALINCLUDE END: FIND KERNEL

} // namespace openreg
