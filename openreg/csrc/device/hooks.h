// Hooks: what PyTorch's generic code asks an accelerator for, beyond the guard.
#pragma once

#include "device/device.h"
#include "random/generator.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>

namespace openreg {

// LITERALINCLUDE START: HOOKS
/** @brief Whether the autograd engine has run in this process after a device was used. Any thread. */
bool engineHasRun() noexcept;

/**
 * @brief Implements at::PrivateUse1HooksInterface for this backend.
 *
 * backward(), torch.accelerator and UntypedStorage.resize_ end here. One object serves all devices and is never
 * destroyed.
 */
struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  /// Must not initialise a device: PyTorch asks this in order to decide whether to use one at all.
  bool isAvailable() const override { return openreg::deviceCount() > 0; }
  /// The autograd engine sets a device only where this is true, so that a backward pass on one device leaves others
  /// asleep.
  bool hasPrimaryContext(c10::DeviceIndex device) const override;
  void init() const override { (void)deviceCountEnsureNonZero(); }

  c10::DeviceIndex deviceCount() const override { return openreg::deviceCount(); }
  c10::DeviceIndex getCurrentDevice() const override { return currentDevice(); }
  void setCurrentDevice(c10::DeviceIndex device) const override { setDevice(device); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override { return openreg::exchangeDevice(device); }
  /// As exchangeDevice, but a device that is not there is no error.
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override;

  at::Device getDeviceFromPtr(void* data) const override;
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t size) const override;

  // LITERALINCLUDE START: HOOKS PINNED
  at::Allocator* getPinnedMemoryAllocator() const override;
  /// Also asked about memory that is not ours, and in programs that use no device: it must start nothing.
  bool isPinnedPtr(const void* data) const override;
  // LITERALINCLUDE END: HOOKS PINNED

  // LITERALINCLUDE START: HOOKS GENERATOR
  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override { return defaultGenerator(device); }
  /// torch.Generator("openreg"). The index is -1 where none was given, and means the current device.
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return at::make_generator<Generator>(resolveIndex({kDeviceType, device}));
  }
  // LITERALINCLUDE END: HOOKS GENERATOR
};
// LITERALINCLUDE END: HOOKS

} // namespace openreg
