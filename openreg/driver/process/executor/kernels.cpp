// Frames about kernels.
#include <algorithm>
#include <cstring>
#include <string>

#include "api/state.h"
#include "common/calls/kernel_calls.h"
#include "common/system/threads.h"
#include "service.h"

namespace openreg::process {

// LITERALINCLUDE START: EXECUTOR MODULE
/// On a thread of its own: a library may take its time to load, and until then frames are served. There is one request
/// at a time, so nobody else answers meanwhile.
void Service::onModuleLoad(const Header& frame) {
  const Rest rest{reinterpret_cast<const char*>(&frame + 1), frame.payload};
  const std::string path = textOf(rest);
  if (path.size() + 1 >= rest.size) {
    throw Garbled("frame " + std::to_string(frame.number) + " has a path and no name");
  }
  const std::string name = rest.bytes + path.size() + 1;
  startThread("or-module", [this, path, name, request = frame] {
    reply(request, [&] {
      return HandleFrame{.handle = sim::simulator().loadModuleFrom(path.c_str(), name.c_str(), device_)};
    });
  });
}
// LITERALINCLUDE END: EXECUTOR MODULE

KernelAnswer Service::onModuleKernel(const HandleFrame& frame, Rest name) {
  const uint64_t kernel = sim::simulator().getKernel(handleOf<orModule_t>(frame.handle), textOf(name));
  // A Quit may be taking all handles back, on its own thread: then nobody believes the answer.
  const sim::Kernel* found = sim::simulator().kernels.find(kernel);
  return {.handle = kernel, .minArgsSize = found != nullptr ? found->minArgsSize() : 0};
}

// LITERALINCLUDE START: EXECUTOR LAUNCH
void Service::onLaunch(const LaunchFrame& launch, Rest rest) {
  const size_t descriptors = launch.pointerCount * sizeof(orPointerArg);
  const auto* pointers = reinterpret_cast<const orPointerArg*>(rest.bytes);
  if (rest.size != descriptors + launch.argsSize) {
    throw Garbled(
        "a frame launches with " + std::to_string(rest.size) + " bytes of descriptors and arguments; expected " +
        std::to_string(descriptors + launch.argsSize));
  }
  const bool fit = std::all_of(pointers, pointers + launch.pointerCount, [&](const orPointerArg& it) {
    return it.offset % 8 == 0 && it.offset + sizeof(void*) <= launch.argsSize;
  });
  if (!fit || launch.argsSize > OPENREG_MAX_ARGUMENT_BYTES || launch.pointerCount > OPENREG_MAX_POINTER_ARGS) {
    throw Garbled(
        "a frame launches with " + std::to_string(launch.argsSize) + " bytes of arguments and " +
        std::to_string(launch.pointerCount) + " pointers, of which not all lie in them");
  }
  if (GraphNodes* nodes = graphOf(launch.stream)) {
    const auto& kernel = named(sim::simulator().kernels, handleOf<orKernel_t>(launch.kernel));
    const char* args = rest.bytes + descriptors;
    KernelCalls<sim::Simulator>::requireArguments(kernel, args, launch.argsSize, pointers, launch.pointerCount);
    return addNode(
        *nodes, KernelCalls<sim::Simulator>::captured(
                    launch.kernel, kernel.name(), args, launch.argsSize, pointers, launch.pointerCount));
  }
  const Numbered number(launch.correlation);
  KernelCalls<sim::Simulator>::launchKernel(
      handleOf<orKernel_t>(launch.kernel), rest.bytes + descriptors, launch.argsSize, pointers, launch.pointerCount,
      handleOf<orStream_t>(stream(launch.stream).handle.load()));
}
// LITERALINCLUDE END: EXECUTOR LAUNCH

} // namespace openreg::process
