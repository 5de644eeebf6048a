// Hooks: what PyTorch's generic code asks an accelerator for, beyond the guard.
#include "device/hooks.h"

#include "device/device_name.h"
#include "device/error.h"
#include "ops/tensor/resize.h"

#include <atomic>

namespace openreg {

// LITERALINCLUDE START: HOOKS FUNCTIONS
namespace {
std::atomic<bool> askedByEngine{false};
} // namespace

bool engineHasRun() noexcept {
  return askedByEngine.load(std::memory_order_relaxed);
}

bool Hooks::hasPrimaryContext(c10::DeviceIndex device) const {
  int active = 0;
  if (orDeviceGetState(&active, device) != orSuccess || active == 0) {
    return false; // also for a device that is not there, and in a forked child
  }
  askedByEngine.store(true, std::memory_order_relaxed); // the engine asks at the start of every backward pass
  return true;
}

c10::DeviceIndex Hooks::maybeExchangeDevice(c10::DeviceIndex device) const {
  return openreg::exchangeDevice(device < openreg::deviceCount() ? device : c10::DeviceIndex{-1});
}

at::Device Hooks::getDeviceFromPtr(void* data) const {
  orPointerAttributes attributes{};
  check(orPointerGetAttributes(&attributes, data));
  TORCH_CHECK(
      attributes.type == orMemoryTypeDevice, "getDeviceFromPtr: argument 'data' is ", data,
      "; expected a pointer into memory of an ", kDeviceName, " device");
  return {kDeviceType, static_cast<c10::DeviceIndex>(attributes.device)};
}

void Hooks::resizePrivateUse1Bytes(const c10::Storage& storage, size_t size) const {
  resizeStorage(storage, size);
}
// LITERALINCLUDE END: HOOKS FUNCTIONS

// LITERALINCLUDE START: REGISTER HOOKS
// PyTorch accepts hooks once in a process, and keeps the object.
[[maybe_unused]] const bool registered = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();
// LITERALINCLUDE END: REGISTER HOOKS

} // namespace openreg
