// Calls about modules, kernels and launches.
#pragma once

#include "calls.h"
#include "common/graph/capture.h"
#include "common/stale.h"

namespace openreg {

template <class Driver>
struct KernelCalls {
  using Given = openreg::Given<Driver>;

  static void moduleLoad(orModule_t* module, const char* name, int index) {
    *module = handleOf<orModule_t>(Given::all().loadModule(name, Given::usedDevice(index)));
  }

  static void moduleGetKernel(orKernel_t* kernel, orModule_t module, const char* name) {
    *kernel = handleOf<orKernel_t>(Given::all().getKernel(module, name));
  }

  static void launchKernel(
      orKernel_t kernel,
      const void* args,
      size_t argsSize,
      const orPointerArg* pointers,
      size_t pointerCount,
      orStream_t stream) {
    const auto& it = named(Given::all().kernels, kernel);
    auto& on = Given::stream(stream);
    auto& device = on.device();
    if (it.device.load(std::memory_order_relaxed) != &device) {
      throw Refused{orDriverError(
          orErrorInvalidHandle,
          "argument 'kernel' is of a module loaded on device %d; expected one loaded on device %d, the stream's",
          it.device.load()->index, device.index)};
    }
    require(device.use());
    requireArguments(it, args, argsSize, pointers, pointerCount);
    // LITERALINCLUDE START: LAUNCH OR CAPTURE
    if (on.captures()) [[unlikely]] {
      if (Given::all().captures.add(
              on, number(stream), captured(number(kernel), it.name(), args, argsSize, pointers, pointerCount))) {
        return;
      }
    }
    on.queueLaunch(number(stream), it, args, argsSize, pointers, pointerCount);
    // LITERALINCLUDE END: LAUNCH OR CAPTURE
  }

  /// Refuses arguments that a kernel can't be launched with.
  static void requireArguments(
      const auto& kernel, const void* args, size_t argsSize, const orPointerArg* pointers, size_t pointerCount) {
    if (argsSize < kernel.minArgsSize()) {
      throw Refused{orDriverError(
          orErrorInvalidValue, "argument 'argsSize' is %zu; kernel '%s' expects at least %zu", argsSize, kernel.name(),
          kernel.minArgsSize())};
    }
    refuseStale(Given::all().devices, args, pointers, pointerCount);
  }

  /// A launch as a graph remembers it.
  static KernelWork captured(
      uint64_t kernel,
      const char* name,
      const void* args,
      size_t argsSize,
      const orPointerArg* pointers,
      size_t pointerCount) {
    const char* bytes = static_cast<const char*>(args);
    return {kernel, name, {bytes, bytes + argsSize}, {pointers, pointers + pointerCount}};
  }
};

} // namespace openreg
