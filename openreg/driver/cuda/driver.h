// Everything the driver has.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "common/objects.h"
#include "device.h"
#include "event.h"
#include "module.h"
#include "pinned.h"
#include "stream.h"

namespace openreg::cuda {

struct Cuda : Objects<Device, Stream, Event, Module, Kernel> {
  using Place = cuda::Place;

  Cuda();

  Pinned& pinned() { return pinned_; }
  Pinned* pinnedIfAny() { return &pinned_; }

  // Handles.
  uint64_t loadModule(const char* name, Device& device);
  uint64_t getKernel(orModule_t module, const char* name);

  /// The device's context may be gone, and its code with it.
  void forgetCode(const Device& device);

  /// Starts CUDA at the first call; how many GPUs there are. From then on a forked child can't use them.
  int initialize();

  /// Why there is no device; empty if there is one.
  const std::string& whyNone() const { return whyNone_; }

  /// The one of this process. It is never destroyed: functions of the host may run while static destructors do.
  static Cuda& instance();

 private:
  struct Code {
    CUfunction function = nullptr;
    size_t minArgsSize = 0;
  };
  const Code& load(const Source& source, const std::string& kernel, const Device& device);

  Pinned pinned_;
  std::string whyNone_;
  std::map<std::pair<const Device*, const std::string*>, Code> code_; ///< Guarded by modulesMutex.
};

} // namespace openreg::cuda
