// Everything the simulator has.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "bell.h"
#include "device.h"
#include "event.h"
#include "gate.h"
#include "handle.h"
#include "module.h"
#include "options.h"
#include "pinned.h"
#include "stream.h"

namespace openreg::sim {

struct Simulator {
  explicit Simulator(const Options& options);

  const Options options;
  Bell bell;
  HandleTable<Stream, HandleKind::Stream, 16 * 1024> streams;
  HandleTable<Event, HandleKind::Event, 1024 * 1024> events;
  HandleTable<Module, HandleKind::Module, kMaxModules> modules;
  HandleTable<Kernel, HandleKind::Kernel, 64 * 1024> kernels;
  HandleTable<Gate, HandleKind::Gate, 64 * 1024> gates;
  Pinned pinned;
  std::mutex modulesMutex;
  std::vector<std::unique_ptr<Device>> devices;

  /// The device that has, or had before a reset, that address; null if it is no device memory.
  Device* deviceOf(const void* ptr) const;

  /// The device is reset: its events, modules and kernels are gone. (Streams go one by one.)
  void invalidateHandles(Device& device);
};

/// The one of this process, made from OPENREG_SIM at the first call; throws std::invalid_argument as long as that is
/// not understood. It is never destroyed: workers may be running while static destructors are, and calls may come after
/// them.
Simulator& simulator();

} // namespace openreg::sim
