// Modules are sources of kernels for the GPU; a kernel is compiled when it is first asked for.
#pragma once

#include <atomic>
#include <map>
#include <span>
#include <string>

#include "blas.h"
#include "common/handle.h"
#include "library.h"

namespace openreg::cuda {

class Device;

/// What a source says of a kernel.
struct SourceKernel {
  std::string arguments; ///< The type of its arguments; empty for this library's own, which are found by their names.
  // Of this library's own:
  std::string file; ///< Where it is.
  size_t minArgsSize = 0;
  int phases = 1;              ///< Launches that it takes.
  VendorCall vendor = nullptr; ///< What is called in its place, where a library of NVIDIA's has it.
};

/// A source, read once, and which kernels are in it.
struct Source {
  std::string path;
  std::string text; ///< Empty for the module "openreg", which is many files.
  std::map<std::string, SourceKernel> kernels;
};

/// A kernel of a module that is loaded on a device.
struct Kernel : Handled {
  std::atomic<Device*> device{nullptr};
  // What follows is set before the handle is.
  const std::string* of = nullptr; ///< Its name in the source, which lives as long as the process.
  CUfunction function = nullptr;
  VendorCall vendor = nullptr; ///< In place of a function.
  size_t minArgs = 0;          ///< Fewest bytes of a launch.
  int phases = 1;              ///< Launches that it takes.

  const char* name() const { return of->c_str(); }
  size_t minArgsSize() const { return minArgs; }
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
