// The device's part of the profiler that was there before Kineto: torch.autograd.profiler.profile(use_kineto=False).
#include "device/device.h"
#include "stream/event.h"
#include "stream/handle.h"

#include <c10/core/DeviceGuard.h>
#include <c10/util/ApproximateClock.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <memory>

namespace openreg {
namespace {

// LITERALINCLUDE START: PROFILER STUBS
/// It puts an event before and behind each operator, on the current stream. That measures the device's time without any
/// record of the driver's, and costs two events an operator.
class Stubs final : public torch::profiler::impl::ProfilerStubs {
 public:
  bool enabled() const override { return deviceCount() > 0; }

  void record(
      c10::DeviceIndex* device, torch::profiler::impl::ProfilerVoidEventStub* event, int64_t* hostNs) const override {
    const auto current = currentDevice();
    if (device != nullptr) {
      *device = current;
    }
    const std::shared_ptr<void> made(
        createEvent(current, orEventDefault), [](void* it) { (void)orEventDestroy(static_cast<orEvent_t>(it)); });
    check(orEventRecord(static_cast<orEvent_t>(made.get()), currentStreamHandle(current)));
    if (hostNs != nullptr) {
      *hostNs = c10::getTime();
    }
    *event = made;
  }

  /// In microseconds.
  float elapsed(
      const torch::profiler::impl::ProfilerVoidEventStub* start,
      const torch::profiler::impl::ProfilerVoidEventStub* end) const override {
    const auto first = static_cast<orEvent_t>(start->get());
    const auto last = static_cast<orEvent_t>(end->get());
    check(orEventSynchronize(first));
    check(orEventSynchronize(last));
    float milliseconds = 0;
    check(orEventElapsedTime(&milliseconds, first, last));
    return milliseconds * 1000.0F;
  }

  void onEachDevice(std::function<void(int)> op) const override {
    for (c10::DeviceIndex device = 0; device < deviceCount(); ++device) {
      const c10::DeviceGuard guard({kDeviceType, device}); // PyTorch's function may throw
      op(device);
    }
  }

  void synchronize() const override { openreg::synchronize(currentDevice()); }

  // For a vendor's own tool that draws what the program says. We have none.
  void mark(const char*) const override {}
  void rangePush(const char*) const override {}
  void rangePop() const override {}
};

const auto registered = [] {
  static Stubs stubs;
  torch::profiler::impl::registerPrivateUse1Methods(&stubs);
  return true;
}();
// LITERALINCLUDE END: PROFILER STUBS

} // namespace
} // namespace openreg
