// Commands of an executor's streams.
#include "commands.h"

#include <algorithm>
#include <cstdio>

namespace openreg::process {

void WaitCommand::run(sim::Stream& stream) {
  const sim::Failure& failure = stream.device().failure;
  const DeviceBoard& other = service_.board().devices[frame_.ofDevice];
  service_.board()
      .fence(frame_.ofDevice, frame_.ofStream, frame_.kind == FenceKind::Host)
      .wait(frame_.value, kLookNs, [&] { return failure.exists() || other.lost.load() != 0; });
}

void GateCommand::run(sim::Stream& stream) {
  sim::Device& device = stream.device();
  GateBoard& gate = service_.board().gates[frame_.gate];
  const int64_t end = sim::nowNs() + frame_.deadlineNs;
  gate.waiting[device.index].fetch_add(1);
  const bool opened = gate.opened.wait(frame_.value, std::min(kLookNs, frame_.deadlineNs), [&] {
    return device.failure.exists() || sim::nowNs() >= end;
  });
  gate.waiting[device.index].fetch_sub(1);
  if (!opened && !device.failure.exists()) {
    char text[256];
    std::snprintf(
        text, sizeof(text), "gate '%.*s' was not opened within its deadline of %g s; a stream of device %d stood there",
        static_cast<int>(sizeof(frame_.name)), frame_.name, static_cast<double>(frame_.deadlineNs) / 1e9, device.index);
    device.fail(orErrorTimedOut, text);
  }
}

} // namespace openreg::process
