// Modules are sources of kernels for the GPU; a kernel is compiled when it is first asked for.
#pragma once

#include <atomic>
#include <map>
#include <span>
#include <string>

#include "common/handle.h"
#include "library.h"

namespace openreg::cuda {

class Device;

/// A source, read once, and which kernels are in it.
struct Source {
  std::string path;
  std::string text;
  std::map<std::string, std::string> kernels; ///< Name → type of its arguments.
};

/// A kernel of a module that is loaded on a device.
struct Kernel : Handled {
  std::atomic<Device*> device{nullptr};
  // What follows is set before the handle is.
  const std::string* of = nullptr; ///< Its name in the source, which lives as long as the process.
  CUfunction function = nullptr;
  size_t parameterBytes = 0; ///< What CUDA copies of the arguments.

  const char* name() const { return of->c_str(); }
  /// C++ has no type of no bytes: one byte means that there are no arguments.
  size_t minArgsSize() const { return parameterBytes == 1 ? 0 : parameterBytes; }
};

/// A module loaded on a device.
struct Module : Handled {
  std::atomic<Device*> device{nullptr};
  const Source* source = nullptr; ///< Guarded by modulesMutex.
};

/// The source that `name` means, as it is now. Refuses what is none.
const Source& sourceOf(const char* name);

/// Checks a launch's pointers and queues it.
void launch(
    Device& device,
    CUstream stream,
    const Kernel& kernel,
    const void* args,
    size_t argsSize,
    std::span<const orPointerArg> pointers);

} // namespace openreg::cuda
