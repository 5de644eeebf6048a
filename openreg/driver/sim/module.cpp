// Modules and kernels by name.
#include <cstring>

#include "kernels/launch/registry.h"
#include "module_file.h"
#include "simulator.h"

namespace openreg::sim {

namespace {

orError_t openSource(Source& source, const char* path, const char* name) {
  if (std::strchr(name, '/') != nullptr) {
    return loadModuleFile(source, path, name);
  }
  if (std::strcmp(name, "openreg") != 0) {
    return orDriverError(
        orErrorNotFound,
        "argument 'name' is '%s'; expected 'openreg' or the path (with a slash in it) of a shared library", name);
  }
  static const char builtIn = 0;
  source.origin = &builtIn;
  if (simulator().options.kernels) {
    source.kernels = kernels::registered();
  }
  return orSuccess;
}

} // namespace

orError_t Simulator::loadModuleFrom(orModule_t* module, const char* path, const char* name, Device& device) {
  Source source;
  if (const orError_t error = openSource(source, path, name)) {
    return error;
  }
  const std::lock_guard lock(modulesMutex);
  return give(
      module, findOrMake(
                  modules, device, [&](const Module& other) { return other.origin == source.origin; },
                  [&](Module& made) {
                    made.origin = source.origin;
                    made.kernels = source.kernels;
                  }));
}

orError_t Simulator::getKernel(orKernel_t* kernel, orModule_t module, const char* name) {
  const std::lock_guard lock(modulesMutex);
  const Module* from = modules.find(number(module));
  if (from == nullptr) {
    return invalidHandle("module", "a module", number(module));
  }
  for (const orKernelEntry& entry : from->kernels) {
    if (std::strcmp(entry.name, name) == 0) {
      return give(
          kernel, findOrMake(
                      kernels, *from->device.load(), [&](const Kernel& other) { return other.entry.load() == &entry; },
                      [&](Kernel& made) { made.entry.store(&entry); }));
    }
  }
  return orDriverError(
      orErrorNotFound, "argument 'name' is '%s'; expected a kernel of the module, which has %zu", name,
      from->kernels.size());
}

} // namespace openreg::sim
