// Calls about modules, kernels and launches.
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "calls.h"
#include "kernels/registry.h"
#include "launch.h"
#include "simulator.h"
#include "stale.h"

namespace openreg::sim {

namespace {

/// Where a module's kernels are.
struct Source {
  const void* origin = nullptr;
  std::span<const orKernelEntry> kernels;
};

orError_t open(Source& source, const char* name) {
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
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL); // The same handle for the same library, so it serves as origin.
  if (library == nullptr) {
    return orDriverError(orErrorNotFound, "argument 'name' is '%s', which cannot be loaded: %s", name, dlerror());
  }
  const auto get = reinterpret_cast<decltype(&orGetKernels)>(dlsym(library, "orGetKernels"));
  if (get == nullptr) {
    return orDriverError(orErrorNotFound, "argument 'name' is '%s', which does not export orGetKernels", name);
  }
  size_t count = 0;
  const orKernelEntry* entries = get(&count);
  source = {library, {entries, entries != nullptr ? count : 0}};
  return orSuccess;
}

} // namespace

orError_t moduleLoad(orModule_t* module, const char* name, int index) {
  Simulator& all = simulator();
  Device& device = *all.devices[static_cast<size_t>(index)];
  if (const orError_t error = device.use()) {
    return error;
  }
  Source source;
  if (const orError_t error = open(source, name)) {
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
      return orDriverError(orErrorMemoryAllocation, "there are too many modules");
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
