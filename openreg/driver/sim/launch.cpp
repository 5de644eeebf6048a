// Runs kernels.
#include "launch.h"

#include <cxxabi.h>

#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "pool.h"
#include "simulator.h"

namespace openreg::sim {

namespace {

/// The services of the device for one kernel (orKernelContext), and whom they concern.
struct RunningKernel : orKernelContext {
  RunningKernel(Device& onDevice, const char* kernelName)
      : orKernelContext{&loop, &report}, device(onDevice), name(kernelName) {}

  static void loop(orKernelContext*, int64_t count, int64_t grain, orLoopBody body, void* state) {
    ComputePool::instance().run(count, grain, body, state);
  }
  static void report(orKernelContext* context, orError_t error, const char* message) {
    auto& self = *static_cast<RunningKernel*>(context);
    self.fail(error == orSuccess || error == orErrorNotReady ? orErrorLaunchFailure : error, message);
  }
  void fail(orError_t error, const std::string& what) {
    device.fail(error, "kernel '" + std::string(name) + "' on device " + std::to_string(device.index) + ": " + what);
  }

  Device& device;
  const char* name;
};

std::string hex(uintptr_t value) {
  char text[2 + 2 * sizeof(value) + 1];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

/// What is wrong with a pointer, for the message.
std::string describe(const orPointerArg& argument, const char* pointer, const Device& device) {
  std::string text = "the pointer at argument byte " + std::to_string(argument.offset) + " is " +
                     hex(reinterpret_cast<uintptr_t>(pointer)) + " and is used from byte " +
                     std::to_string(argument.lower) + " on for " + std::to_string(argument.extent) +
                     " bytes; expected these to lie in one live allocation of device " + std::to_string(device.index) +
                     " or of a peer it has access to";
  const Device* owner = simulator().deviceOf(pointer);
  if (owner != nullptr && owner != &device && !device.canAccess(*owner)) {
    text += " (it is memory of device " + std::to_string(owner->index) + ", to which there is no peer access)";
  } else if (owner == nullptr) {
    text += simulator().pinned().find(pointer) ? " (it is pinned host memory, which only copies may use)"
                                               : " (it is host memory)";
  }
  return text;
}

} // namespace

LaunchCommand::LaunchCommand(
    const orKernelEntry& entry, const void* args, size_t argsSize, const orPointerArg* pointers, size_t pointerCount)
    : entry_(entry), argsSize_(static_cast<uint32_t>(argsSize)), pointerCount_(static_cast<uint32_t>(pointerCount)) {
  if (argsSize != 0) {
    std::memcpy(this->args(), args, argsSize);
  }
  if (pointerCount != 0) {
    std::memcpy(this->args() + descriptorsAt(argsSize), pointers, pointerCount * sizeof(orPointerArg));
  }
}

void LaunchCommand::run(Stream& stream) {
  const auto* pointers = reinterpret_cast<const orPointerArg*>(args() + descriptorsAt(argsSize_));
  if (!runKernel(stream, entry_, args(), {pointers, pointerCount_})) {
    correlation = 0; // It was not done.
  }
}

bool runKernel(Stream& stream, const orKernelEntry& entry, char* args, std::span<const orPointerArg> pointers) {
  Device& device = stream.device();
  RunningKernel kernel(device, entry.name);
  device.delay(device.kernelDelayNs.load(std::memory_order_relaxed));
  if (device.failure.exists()) {
    return false;
  }
  const Standstill::Touch touch(simulator().standstill);
  std::vector<Span> peers; // Keeps memory of peers in place while the kernel runs. Usually empty.
  std::array<char*, OPENREG_MAX_POINTER_ARGS> given; // All before the first is replaced: two may be the same one.
  for (size_t i = 0; i < pointers.size(); ++i) {
    std::memcpy(&given[i], args + pointers[i].offset, sizeof(given[i]));
  }
  for (size_t i = 0; i < pointers.size(); ++i) {
    const orPointerArg& argument = pointers[i];
    if (argument.extent == 0) {
      continue; // Nothing is touched, so whatever stands there may stay.
    }
    char* pointer = given[i];
    // Computed as numbers: a wrong pointer may overflow, and then lies in no allocation.
    const auto* first =
        reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(pointer) + static_cast<uintptr_t>(argument.lower));
    char* view = nullptr;
    if (stream.blocks().holds(device.memory, first, argument.extent)) {
      view = device.memory.view(first);
    } else if (Device* owner = simulator().deviceOf(first); owner != nullptr && device.canAccess(*owner)) {
      if (auto span = owner->memory.span(first, argument.extent)) {
        view = span->bytes;
        peers.push_back(std::move(*span));
      }
    }
    if (view == nullptr) {
      device.fail(
          orErrorIllegalAddress, "kernel '" + std::string(entry.name) + "' on device " + std::to_string(device.index) +
                                     ": " + describe(argument, pointer, device));
      return true;
    }
    view = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(view) - static_cast<uintptr_t>(argument.lower));
    std::memcpy(args + argument.offset, &view, sizeof(view));
  }
  // Device code should use `fail`. But what it cannot foresee, such as memory that the host has not, must not end the
  // process.
  try {
    entry.function(args, &kernel);
  } catch (const abi::__forced_unwind&) {
    throw; // See Stream::run.
  } catch (const std::bad_alloc&) {
    kernel.fail(orErrorMemoryAllocation, "the host has not enough memory for what the kernel itself needs");
  } catch (const std::exception& error) {
    kernel.fail(orErrorLaunchFailure, error.what());
  } catch (...) {
    kernel.fail(orErrorLaunchFailure, "it threw something that is not a std::exception");
  }
  return true;
}

} // namespace openreg::sim
