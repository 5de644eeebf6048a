// Modules and kernels as handles name them.
#pragma once

#include <atomic>
#include <map>
#include <span>

#include "handle.h"
#include "openreg_kernel.h"

namespace openreg::sim {

class Device;

constexpr uint32_t kMaxModules = 4096; ///< Of all devices together. See orModuleLoad.

/// A kernel of a module that is loaded on a device. Its entry lives as long as the process.
struct Kernel : Handled {
  std::atomic<Device*> device{nullptr};
  std::atomic<const orKernelEntry*> entry{nullptr};
};

/// A module loaded on a device.
struct Module : Handled {
  std::atomic<Device*> device{nullptr};
  // What follows is guarded by the simulator's modulesMutex.
  const void* origin = nullptr;                      ///< The same for two loads of the same module.
  std::span<const orKernelEntry> kernels;            ///< What it has.
  std::map<const orKernelEntry*, Kernel*> handedOut; ///< Kernels that have handles.
};

} // namespace openreg::sim
