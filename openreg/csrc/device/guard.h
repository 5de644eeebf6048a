// The guard: how PyTorch's own code switches devices and finds streams without knowing this backend.
#pragma once

#include "device/device.h"
#include "stream/current_stream.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace openreg {

// LITERALINCLUDE START: GUARD
/**
 * @brief Implements c10::impl::DeviceGuardImplInterface for this backend.
 *
 * PyTorch reaches it through a global table, from any thread, also from destructors: every c10::DeviceGuard, the
 * autograd engine, torch.accelerator and torch.Stream end here. One object serves all devices and is never destroyed.
 */
struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kDeviceType; }
  c10::DeviceIndex deviceCount() const noexcept override { return openreg::deviceCount(); }

  c10::Device getDevice() const override { return {kDeviceType, currentDevice()}; }
  void setDevice(c10::Device device) const override { openreg::setDevice(resolveIndex(device)); }
  /// Guards are made around every operator, and nearly always the device is current already.
  c10::Device exchangeDevice(c10::Device device) const override {
    const auto before = getDevice();
    if (device != before) {
      setDevice(device);
    }
    return before;
  }
  /// Called by destructors, which puts a device back that was current a moment ago: an error could not be handled
  /// there.
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (int current = -1; orGetDevice(&current) != orSuccess || current != device.index()) {
      (void)orSetDevice(device.index());
    }
  }

  c10::Stream getStream(c10::Device device) const override { return currentStream(resolveIndex(device)); }
  c10::Stream getDefaultStream(c10::Device device) const override { return defaultStream(resolveIndex(device)); }
  /// Does not change the current device: the interface leaves that to the caller.
  c10::Stream exchangeStream(c10::Stream stream) const override { return exchangeCurrentStream(stream); }

  void synchronizeDevice(c10::DeviceIndex device) const override { synchronize(device); }
  c10::DeviceCapability getDeviceCapability(c10::Device device) const override;

  // LITERALINCLUDE START: GUARD EVENT
  void record(void** event, const c10::Stream& stream, c10::DeviceIndex device, c10::EventFlag flag) const override;
  void block(void* event, const c10::Stream& stream) const override;
  void destroyEvent(void* event, c10::DeviceIndex device) const noexcept override;
  // LITERALINCLUDE END: GUARD EVENT

  // LITERALINCLUDE START: GUARD STREAM
  c10::Stream getNewStream(c10::Device device, int priority) const override;
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool isHighPriority) const override;
  void* getStreamNativeHandle(c10::Stream stream) const override;
  bool queryStream(const c10::Stream& stream) const override;
  void synchronizeStream(const c10::Stream& stream) const override;
  bool queryEvent(void* event) const override;
  void synchronizeEvent(void* event) const override;
  double elapsedTime(void* start, void* end, c10::DeviceIndex device) const override;
  // LITERALINCLUDE END: GUARD STREAM

  // LITERALINCLUDE START: GUARD CAPTURE
  bool isStreamCapturing(const c10::Stream& stream) const override;
  // LITERALINCLUDE END: GUARD CAPTURE

  // LITERALINCLUDE START: GUARD RECORD STREAM
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override;
  // LITERALINCLUDE END: GUARD RECORD STREAM
};
// LITERALINCLUDE END: GUARD

} // namespace openreg
