// Modules and kernels as handles name them.
#pragma once

#include <atomic>
#include <span>

#include "common/handle.h"
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
  // What follows is guarded by the simulator's modulesMutex.
  const void* origin = nullptr;           ///< The same for two loads of the same module.
  std::span<const orKernelEntry> kernels; ///< What it has.
};

} // namespace openreg::sim
