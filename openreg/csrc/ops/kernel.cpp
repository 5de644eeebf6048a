// Device code by name: finding a kernel of the driver.
#include "ops/kernel.h"

#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: FIND KERNEL
// Stands for "asked, and there is none". Its address is no handle of the driver's.
const char none = 0;
const auto kNone = reinterpret_cast<orKernel_t>(const_cast<char*>(&none));

orKernel_t lookUp(c10::DeviceIndex device, const char* name) {
  const c10::DeviceGuard guard({kDeviceType, device}); // a module is loaded on the current device
  orModule_t module = nullptr;
  orKernel_t kernel = nullptr;
  auto error = orModuleLoad(&module, "openreg");
  if (error == orSuccess) {
    error = orModuleGetKernel(&kernel, module, name);
  }
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
    // Two threads that ask at the same time get the same answer, so no lock is needed.
    handle = lookUp(device, name_);
    known.store(handle, std::memory_order_relaxed);
  }
  return handle == kNone ? nullptr : handle;
}

orKernel_t Kernel::get(c10::DeviceIndex device) const {
  const auto handle = find(device);
  TORCH_CHECK_NOT_IMPLEMENTED(
      handle != nullptr, "openreg: the driver of device ", static_cast<int>(device), " has no kernel '", name_, "'");
  return handle;
}
// LITERALINCLUDE END: FIND KERNEL

} // namespace openreg
