// Everything the simulator has.
#include "simulator.h"

#include <cstdlib>

#include "api/failure.h"
#include "check.h"

namespace openreg::sim {

Simulator::Simulator(const Options& from) : options(from) {
  for (int i = 0; i < options.devices; ++i) {
    devices.push_back(std::make_unique<Device>(i, options));
  }
  for (const Options::Fail& fail : options.fail) {
    api::planFailure(fail.entry.c_str(), fail.n, fail.error);
  }
  if (options.check) {
    installFaultReport();
  }
}

Device* Simulator::deviceOf(const void* ptr) const {
  for (const auto& device : devices) {
    if (device->memory.covers(ptr)) {
      return device.get();
    }
  }
  return nullptr;
}

void Simulator::invalidateHandles(Device& device) {
  events.forEach([&](Event& event) {
    const uint64_t handle = event.handle.load();
    if (handle != 0 && &event.device() == &device) {
      event.close(handle);
    }
  });
  const std::lock_guard lock(modulesMutex);
  const auto drop = [&](auto& table) {
    table.forEach([&](auto& object) {
      if (object.handle.load() != 0 && object.device.load() == &device) {
        object.handle.store(0);
        table.release(object);
      }
    });
  };
  drop(kernels);
  drop(modules);
}

Simulator& simulator() {
  static Simulator& instance = []() -> Simulator& {
    const char* text = std::getenv("OPENREG_SIM");
    return *new Simulator(parseOptions(text != nullptr ? text : ""));
  }();
  return instance;
}

} // namespace openreg::sim
