// Modules and kernels by name.
#include <cstring>

#include "kernels/launch/registry.h"
#include "module_file.h"
#include "simulator.h"

namespace openreg::sim {

namespace {

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
  const bool has = simulator().options.kernels;
  return {&builtIn, has ? kernels::registered() : std::span<const orKernelEntry>()};
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
