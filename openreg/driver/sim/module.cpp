// Modules and kernels by name.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/launch/registry.h"
#include "module_file.h"
#include "simulator.h"

namespace openreg::sim {

namespace {

/// Whether a kernel is one of a name, such as "gemm.float" and "gemm" of "gemm".
bool isOf(std::string_view kernel, std::string_view name) {
  return kernel == name || (kernel.starts_with(name) && kernel[name.size()] == '.');
}

/// Those of the kernels that OPENREG_SIM leaves. Chosen once; they live as long as the process.
std::span<const orKernelEntry> chosenKernels() {
  static const auto& chosen = *new std::vector<orKernelEntry>([] {
    std::vector<orKernelEntry> some;
    for (const auto& name : simulator().options.only) {
      const auto before = some.size();
      std::copy_if(
          kernels::registered().begin(), kernels::registered().end(), std::back_inserter(some),
          [&](const orKernelEntry& entry) { return isOf(entry.name, name); });
      if (some.size() == before) {
        throw Refused{orDriverError(
            orErrorInvalidValue, "OPENREG_SIM has 'only' with '%s'; expected names of kernels, such as only=gemm+copy",
            name.c_str())};
      }
    }
    return some;
  }());
  return chosen;
}

std::span<const orKernelEntry> builtInKernels() {
  const auto& options = simulator().options;
  return !options.kernels       ? std::span<const orKernelEntry>()
         : options.only.empty() ? kernels::registered()
                                : chosenKernels();
}

Source openSource(const char* path, const char* name) {
  if (std::strchr(name, '/') != nullptr) {
    return loadModuleFile(path, name);
  }
  if (std::strcmp(name, "openreg") != 0) {
    throw Refused{orDriverError(
        orErrorNotFound,
        "argument 'name' is '%s'; expected 'openreg' or the path (with a slash in it) of a shared library", name)};
  }
  static const char builtIn = 0;
  return {&builtIn, builtInKernels()};
}

} // namespace

uint64_t Simulator::loadModuleFrom(const char* path, const char* name, Device& device) {
  const Source source = openSource(path, name);
  const std::lock_guard lock(modulesMutex);
  return findOrMake(
      modules, device, [&](const Module& other) { return other.source.origin == source.origin; },
      [&](Module& made) { made.source = source; });
}

uint64_t Simulator::getKernel(orModule_t module, const char* name) {
  const std::lock_guard lock(modulesMutex);
  const Module& from = named(modules, module);
  for (const orKernelEntry& entry : from.source.kernels) {
    if (std::strcmp(entry.name, name) == 0) {
      return findOrMake(
          kernels, *from.device.load(), [&](const Kernel& other) { return other.entry.load() == &entry; },
          [&](Kernel& made) { made.entry.store(&entry); });
    }
  }
  throw Refused{orDriverError(
      orErrorNotFound, "argument 'name' is '%s'; expected a kernel of the module, which has %zu", name,
      from.source.kernels.size())};
}

} // namespace openreg::sim
