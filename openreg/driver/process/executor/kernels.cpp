// Frames about kernels.
#include <cstring>

#include "api/state.h"
#include "service.h"
#include "sim/calls.h"
#include "sim/lookup.h"

namespace openreg::process {

void Service::onModuleLoad(const Header& frame) {
  orModule_t module = nullptr;
  const Rest rest{reinterpret_cast<const char*>(&frame + 1), frame.payload};
  if (const orError_t error = sim::moduleLoad(&module, textOf(frame, rest), device_.index)) {
    return answerWithText(frame, error);
  }
  const HandleFrame given{.handle = sim::number(module)};
  answer(frame, orSuccess, &given, sizeof(given));
}

void Service::onModuleKernel(const Header& frame) {
  const Rest rest = restOf<HandleFrame>(frame);
  const auto module = sim::handleOf<orModule_t>(reinterpret_cast<const HandleFrame*>(&frame + 1)->handle);
  orKernel_t kernel = nullptr;
  if (const orError_t error = sim::moduleGetKernel(&kernel, module, textOf(frame, rest))) {
    return answerWithText(frame, error);
  }
  const orKernelEntry& entry = *sim::simulator().kernels.find(sim::number(kernel))->entry.load();
  const KernelAnswer given{.handle = sim::number(kernel), .minArgsSize = entry.minArgsSize};
  answer(frame, orSuccess, &given, sizeof(given));
}

// LITERALINCLUDE START: EXECUTOR LAUNCH
void Service::onLaunch(const Header& frame) {
  const Rest rest = restOf<LaunchFrame>(frame);
  const auto& launch = *reinterpret_cast<const LaunchFrame*>(&frame + 1);
  const size_t descriptors = launch.pointerCount * sizeof(orPointerArg);
  if (rest.size != descriptors + launch.argsSize) {
    throw Garbled(
        "frame " + std::to_string(frame.number) + " launches with " + std::to_string(rest.size) +
        " bytes of descriptors and arguments; expected " + std::to_string(descriptors + launch.argsSize));
  }
  sim::Stream& it = stream(launch.stream);
  const orError_t error = sim::launchKernel(
      sim::handleOf<orKernel_t>(launch.kernel), rest.bytes + descriptors, launch.argsSize,
      reinterpret_cast<const orPointerArg*>(rest.bytes), launch.pointerCount,
      sim::handleOf<orStream_t>(it.handle.load()));
  if (error != orSuccess) {
    refuse(error, api::thread.description);
  }
}
// LITERALINCLUDE END: EXECUTOR LAUNCH

} // namespace openreg::process
