// Book-keeping of planned failures. Entry points look here only while one is planned.
#include "failure.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "fork.h"
#include "state.h"

namespace openreg::api {

namespace {

constexpr auto kEntries = std::to_array<std::string_view>({
    "orGetDriverName",
    "orGetDeviceCount",
    "orGetDevice",
    "orSetDevice",
    "orDeviceGetState",
    "orGetDeviceProperties",
    "orDeviceSynchronize",
    "orDeviceReset",
    "orDeviceCanAccessPeer",
    "orDeviceEnablePeerAccess",
    "orDeviceDisablePeerAccess",
    "orDeviceGetStreamPriorityRange",
    "orStreamGetDefault",
    "orStreamCreate",
    "orStreamCreateWithPriority",
    "orStreamDestroy",
    "orStreamGetPriority",
    "orStreamGetDevice",
    "orStreamQuery",
    "orStreamSynchronize",
    "orStreamWaitEvent",
    "orLaunchHostFunc",
    "orMalloc",
    "orFree",
    "orMallocHost",
    "orFreeHost",
    "orMemGetInfo",
    "orPointerGetAttributes",
    "orMemcpy",
    "orMemcpyWithStream",
    "orMemcpyAsync",
    "orMemcpyPeer",
    "orMemcpyPeerAsync",
    "orMemset",
    "orMemsetAsync",
    "orIpcGetMemHandle",
    "orIpcOpenMemHandle",
    "orIpcCloseMemHandle",
    "orEventCreate",
    "orEventCreateWithFlags",
    "orEventDestroy",
    "orEventRecord",
    "orEventQuery",
    "orEventSynchronize",
    "orEventElapsedTime",
    "orIpcGetEventHandle",
    "orIpcOpenEventHandle",
    "orModuleLoad",
    "orModuleGetKernel",
    "orLaunchKernel",
    "orStreamBeginCapture",
    "orStreamEndCapture",
    "orStreamGetCaptureInfo",
    "orThreadExchangeStreamCaptureMode",
    "orGraphGetNodeCount",
    "orGraphDebugDotPrint",
    "orGraphDestroy",
    "orGraphInstantiate",
    "orGraphExecKernelNodeSetParams",
    "orGraphLaunch",
    "orGraphExecDestroy",
    "orActivitySubscribe",
    "orActivityUnsubscribe",
});

struct Plan {
  int remaining;
  orError_t error;
};

/// Never destroyed, like the mutex that guards it.
auto& plans() {
  static auto& map = *new std::map<std::string, Plan, std::less<>>;
  return map;
}

void updateAttention() {
  if (plans().empty()) {
    attention.fetch_and(~unsigned{kFailurePlanned}, std::memory_order_relaxed);
  } else {
    attention.fetch_or(kFailurePlanned, std::memory_order_relaxed);
  }
}

} // namespace

bool isEntry(const char* name) {
  return std::ranges::find(kEntries, name) != kEntries.end();
}

void planFailure(const char* entry, int n, orError_t error) {
  if (n == 0) {
    plans().erase(entry);
  } else {
    plans()[entry] = {n, error};
  }
  updateAttention();
}

orError_t dueFailure(const char* entry) {
  const std::lock_guard lock(configurationMutex());
  const auto plan = plans().find(std::string_view(entry));
  if (plan == plans().end() || --plan->second.remaining > 0) {
    return orSuccess;
  }
  const orError_t error = plan->second.error;
  plans().erase(plan);
  updateAttention();
  return error;
}

} // namespace openreg::api
