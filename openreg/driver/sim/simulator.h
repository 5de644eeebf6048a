// Everything the simulator has.
#pragma once

#include "common/objects.h"
#include "copy.h"
#include "device.h"
#include "module.h"
#include "pinned.h"
#include "sim/stream/bell.h"
#include "sim/stream/event.h"
#include "sim/stream/stream.h"
#include "standstill.h"

namespace openreg::sim {

struct Simulator : Objects<Device, Stream, Event, Module, Kernel> {
  using Place = sim::Place;

  explicit Simulator(const Options& options);

  const Options options;
  Bell bell;
  Standstill standstill;

  Pinned& pinned() { return pinned_; }
  Pinned* pinnedIfAny() { return &pinned_; }

  // Handles.
  uint64_t loadModule(const char* name, Device& device) { return loadModuleFrom(name, name, device); }
  /// The same, for an executor: its folder is not the program's, who says `name` and means `path`.
  uint64_t loadModuleFrom(const char* path, const char* name, Device& device);
  uint64_t getKernel(orModule_t module, const char* name);

  /// The one of this process, made from OPENREG_SIM at the first call; throws std::invalid_argument as long as that is
  /// not understood. It is never destroyed: workers may be running while static destructors are, and calls may come
  /// after them.
  static Simulator& instance();

 private:
  Pinned pinned_;
};

inline Simulator& simulator() {
  return Simulator::instance();
}

} // namespace openreg::sim
