// Everything the simulator has.
#pragma once

#include "bell.h"
#include "common/objects.h"
#include "copy.h"
#include "device.h"
#include "event.h"
#include "module.h"
#include "pinned.h"
#include "stream.h"

namespace openreg::sim {

struct Simulator : Objects<Device, Stream, Event, Module, Kernel> {
  using Place = sim::Place;

  explicit Simulator(const Options& options);

  const Options options;
  Bell bell;

  Pinned& pinned() { return pinned_; }
  Pinned* pinnedIfAny() { return &pinned_; }

  orError_t loadModule(orModule_t* module, const char* name, Device& device) {
    return loadModuleFrom(module, name, name, device);
  }
  /// The same, for an executor: its folder is not the program's, who says `name` and means `path`.
  orError_t loadModuleFrom(orModule_t* module, const char* path, const char* name, Device& device);
  orError_t getKernel(orKernel_t* kernel, orModule_t module, const char* name);

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
