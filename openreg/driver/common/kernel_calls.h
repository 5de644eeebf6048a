// Calls about modules, kernels and launches.
#pragma once

#include "calls.h"
#include "stale.h"

namespace openreg {

template <class Driver>
struct KernelCalls : Calls<Driver> {
  using typename Calls<Driver>::Device;
  using typename Calls<Driver>::Stream;
  using Calls<Driver>::all;
  using Calls<Driver>::device;
  using Calls<Driver>::find;
  using Calls<Driver>::invalid;

  static orError_t moduleLoad(orModule_t* module, const char* name, int index) {
    Device& it = device(index);
    const orError_t error = it.use();
    return error != orSuccess ? error : all().loadModule(module, name, it);
  }

  static orError_t moduleGetKernel(orKernel_t* kernel, orModule_t module, const char* name) {
    return all().getKernel(kernel, module, name);
  }

  static orError_t launchKernel(
      orKernel_t kernel,
      const void* args,
      size_t argsSize,
      const orPointerArg* pointers,
      size_t pointerCount,
      orStream_t stream) {
    const auto* it = all().kernels.find(number(kernel));
    if (it == nullptr) {
      return invalidHandle("kernel", "a kernel", number(kernel));
    }
    Stream* on = find(stream);
    if (on == nullptr) {
      return invalid(stream);
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
    if (argsSize < it->minArgsSize()) {
      return orDriverError(
          orErrorInvalidValue, "argument 'argsSize' is %zu; kernel '%s' expects at least %zu", argsSize, it->name(),
          it->minArgsSize());
    }
    if (const orError_t error = refuseStale(all().devices, args, pointers, pointerCount)) {
      return error;
    }
    return on->queueLaunch(number(stream), *it, args, argsSize, pointers, pointerCount);
  }
};

} // namespace openreg
