// Calls about modules, kernels and launches.
#include <cstring>
#include <string>

#include "calls.h"
#include "kernels/launch/registry.h"
#include "launch.h"
#include "module_file.h"
#include "simulator.h"
#include "stale.h"

namespace openreg::sim {

namespace {

orError_t open(Source& source, const char* path, const char* name) {
  if (std::strchr(name, '/') == nullptr) {
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
  return loadModuleFile(source, path, name);
}

} // namespace

orError_t moduleLoad(orModule_t* module, const char* name, int index) {
  return moduleLoadFrom(module, name, name, index);
}

orError_t moduleLoadFrom(orModule_t* module, const char* path, const char* name, int index) {
  Simulator& all = simulator();
  Device& device = *all.devices[static_cast<size_t>(index)];
  if (const orError_t error = device.use()) {
    return error;
  }
  Source source;
  if (const orError_t error = open(source, path, name)) {
    return error;
  }
  const std::lock_guard lock(all.modulesMutex);
  uint64_t found = 0;
  all.modules.forEach([&](const Module& other) {
    if (other.handle.load() != 0 && other.device.load() == &device && other.origin == source.origin) {
      found = other.handle.load();
    }
  });
  if (found == 0) {
    Module* it = all.modules.acquire();
    if (it == nullptr) {
      return orDriverError(
          orErrorMemoryAllocation,
          "there are %u modules, as many as there can be; expected fewer, or a device to be reset first", kMaxModules);
    }
    it->device.store(&device);
    it->origin = source.origin;
    it->kernels = source.kernels;
    it->handedOut.clear();
    found = all.modules.publish(*it);
  }
  *module = handleOf<orModule_t>(found);
  return orSuccess;
}

orError_t moduleGetKernel(orKernel_t* kernel, orModule_t module, const char* name) {
  Simulator& all = simulator();
  const std::lock_guard lock(all.modulesMutex);
  Module* it = all.modules.find(number(module));
  if (it == nullptr) {
    return invalidHandle("module", "a module", number(module));
  }
  for (const orKernelEntry& entry : it->kernels) {
    if (std::strcmp(entry.name, name) == 0) {
      Kernel*& handedOut = it->handedOut[&entry];
      if (handedOut == nullptr) {
        Kernel* made = all.kernels.acquire();
        if (made == nullptr) {
          return orDriverError(orErrorMemoryAllocation, "there are too many kernels");
        }
        made->device.store(it->device.load());
        made->entry.store(&entry);
        all.kernels.publish(*made);
        handedOut = made;
      }
      *kernel = handleOf<orKernel_t>(handedOut->handle.load());
      return orSuccess;
    }
  }
  return orDriverError(
      orErrorNotFound, "argument 'name' is '%s'; expected a kernel of the module, which has %zu", name,
      it->kernels.size());
}

orError_t launchKernel(
    orKernel_t kernel,
    const void* args,
    size_t argsSize,
    const orPointerArg* pointers,
    size_t pointerCount,
    orStream_t stream) {
  Simulator& all = simulator();
  const Kernel* it = all.kernels.find(number(kernel));
  if (it == nullptr) {
    return invalidHandle("kernel", "a kernel", number(kernel));
  }
  Stream* on = all.streams.find(number(stream));
  if (on == nullptr) {
    return invalidHandle("stream", "a stream", number(stream));
  }
  Device& device = on->device();
  if (it->device.load(std::memory_order_relaxed) != &device) {
    return orDriverError(
        orErrorInvalidHandle,
        "argument 'kernel' is of a module loaded on device %d; expected one loaded on device %d, the stream's",
        it->device.load()->index, device.index);
  }
  if (const orError_t error = device.use()) {
    return error;
  }
  const orKernelEntry& entry = *it->entry.load(std::memory_order_relaxed);
  if (argsSize < entry.minArgsSize) {
    return orDriverError(
        orErrorInvalidValue, "argument 'argsSize' is %zu; kernel '%s' expects at least %zu", argsSize, entry.name,
        entry.minArgsSize);
  }
  if (const orError_t error = refuseStale(all.devices, args, pointers, pointerCount)) {
    return error;
  }
  Position end = 0;
  if (const orError_t error = on->submitAt<LaunchCommand>(
          number(stream), end, LaunchCommand::extraBytes(argsSize, pointerCount), entry, args, argsSize, pointers,
          pointerCount)) {
    return error;
  }
  if (device.canAccessAny()) [[unlikely]] {
    for (const auto& other : all.devices) { // Whether it uses their memory shows only when it runs.
      if (device.canAccess(*other)) {
        other->noteVisit(*on, end);
      }
    }
  }
  return orSuccess;
}

} // namespace openreg::sim
