// Times of DDP's passes, for its logging data: by the device's clock.
#include "device/device.h"
#include "stream/current_stream.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

#include <cmath>
#include <map>

namespace openreg {
namespace {

// LITERALINCLUDE START: DDP TIMER
/// Without it, DDP warns that it knows the times of the CPU and CUDA only.
class DdpTimer final : public c10d::Timer {
 public:
  explicit DdpTimer(c10::Device device) : device_(device) {}

  void record(Event event) override {
    Timer::record(event); // the host's time
    const c10::DeviceGuard guard(device_);
    const auto [at, isNew] = events_.try_emplace(event, kDeviceType, c10::EventFlag::BACKEND_DEFAULT);
    at->second.record(currentStream(device_.index()));
  }

  /// Blocks until both are done: DDP asks in a later iteration.
  std::optional<int64_t> measureDifference(Event start, Event end) override {
    const auto from = events_.find(start);
    const auto to = events_.find(end);
    if (from == events_.end() || to == events_.end()) {
      return std::nullopt; // no backward pass, or none that reduces
    }
    from->second.synchronize();
    to->second.synchronize();
    constexpr double kNanosecondsInOne = 1e6;
    return std::llround(from->second.elapsedTime(to->second) * kNanosecondsInOne);
  }

 private:
  c10::Device device_;
  std::map<Event, c10::Event> events_;
};
// LITERALINCLUDE END: DDP TIMER

} // namespace
} // namespace openreg

namespace c10d {
namespace {
C10_REGISTER_TYPED_CLASS(TimerRegistry, c10::DeviceType::PrivateUse1, openreg::DdpTimer)
} // namespace
} // namespace c10d
