// The shared library of a module, loaded from a copy of its file.
#pragma once

#include <span>

#include "openreg_kernel.h"

namespace openreg::sim {

/// Where a module's kernels are.
struct Source {
  const void* origin = nullptr; ///< The same for two loads of the same module.
  std::span<const orKernelEntry> kernels;
};

/// Loads the library at `path` unless that very file has been loaded before.
/// @param name What the program calls it, for messages.
Source loadModuleFile(const char* path, const char* name);

} // namespace openreg::sim
