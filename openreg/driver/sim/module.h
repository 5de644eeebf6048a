// Modules and kernels as handles name them.
#pragma once

#include <atomic>

#include "common/handle.h"
#include "module_file.h"
#include "openreg_kernel.h"

namespace openreg::sim {

class Device;

/// A kernel of a module that is loaded on a device. Its entry lives as long as the process.
struct Kernel : Handled {
  std::atomic<Device*> device{nullptr};
  std::atomic<const orKernelEntry*> entry{nullptr};

  const char* name() const { return entry.load(std::memory_order_relaxed)->name; }
  size_t minArgsSize() const { return entry.load(std::memory_order_relaxed)->minArgsSize; }
};

/// A module loaded on a device.
struct Module : Handled {
  std::atomic<Device*> device{nullptr};
  Source source; ///< Guarded by the simulator's modulesMutex.
};

} // namespace openreg::sim
