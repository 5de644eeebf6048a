// Hooks: what PyTorch's generic code asks an accelerator for, beyond the guard.
#include "autograd/hooks.h"

#include "device/error.h"
#include "ops/resize.h"

namespace openreg {

// LITERALINCLUDE START: HOOKS FUNCTIONS
bool deviceIsInitialized(c10::DeviceIndex device) noexcept {
  int active = 0;
  return orDeviceGetState(&active, device) == orSuccess && active != 0;
}

c10::DeviceIndex Hooks::maybeExchangeDevice(c10::DeviceIndex device) const {
  return openreg::exchangeDevice(device < openreg::deviceCount() ? device : c10::DeviceIndex{-1});
}

at::Device Hooks::getDeviceFromPtr(void* data) const {
  orPointerAttributes attributes{};
  check(orPointerGetAttributes(&attributes, data));
  TORCH_CHECK(
      attributes.type == orMemoryTypeDevice, "getDeviceFromPtr: argument 'data' is ", data,
      "; expected a pointer into memory of an openreg device");
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
