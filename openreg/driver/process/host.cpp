// Everything the driver has in the host.
#include "host.h"

#include "api/failure.h"
#include "sim/check.h"

namespace openreg::process {

Shared::Shared() : boardMemory(createMemory("openreg-board", sizeof(Board))), boardView(boardMemory, sizeof(Board)) {}

Host::Host(const Settings& from) : settings(from) {
  for (int i = 0; i < settings.devices.devices; ++i) {
    devices.push_back(std::make_unique<Device>(i, *this));
  }
  for (const sim::Options::Fail& fail : settings.devices.fail) {
    api::planFailure(fail.entry.c_str(), fail.n, fail.error);
  }
  if (settings.devices.check) {
    sim::installFaultReport();
  }
}

Shared& Host::shared() {
  if (Shared* it = sharedIfAny()) {
    return *it;
  }
  const std::lock_guard lock(sharing_);
  if (sharedIfAny() == nullptr) {
    shared_.store(new Shared, std::memory_order_release);
  }
  return *sharedIfAny();
}

void Host::advanceHostFence(int device, uint32_t lane, uint64_t value) {
  Board& board = shared().board();
  board.fence(device, lane, true).advance(value, [&] { return board.somebodySleepsOn(Board::kHost); });
}

Device* Host::deviceOf(const void* ptr) const {
  for (const auto& device : devices) {
    if (device->memory.covers(ptr)) {
      return device.get();
    }
  }
  return nullptr;
}

void Host::invalidateHandles(Device& device) {
  events.forEach([&](Event& event) {
    const uint64_t handle = event.handle.load();
    if (handle != 0 && &event.device() == &device) {
      event.close(handle);
    }
  });
  streams.forEach([&](Stream& stream) {
    const uint64_t handle = stream.handle.load();
    if (handle != 0 && stream.device.load() == &device) {
      device.destroyStream(stream, handle);
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

Host& host() {
  static Host& instance = *new Host(readSettings());
  return instance;
}

} // namespace openreg::process
