// The table of the driver "process".
#include "table.h"

#include "api/guarded.h"
#include "calls.h"

namespace openreg::process {

namespace {

using api::guarded;

constexpr OrDriver kTable{
    .size = sizeof(OrDriver),
    .version = OPENREG_DRIVER_VERSION,
    .name = "process",
    .GetDeviceCount = guarded<getDeviceCount>,
    .DeviceGetState = guarded<deviceGetState>,
    .GetDeviceProperties = guarded<getDeviceProperties>,
    .DeviceSynchronize = guarded<deviceSynchronize>,
    .DeviceReset = guarded<deviceReset>,
    .DeviceCanAccessPeer = guarded<deviceCanAccessPeer>,
    .DeviceEnablePeerAccess = guarded<deviceEnablePeerAccess>,
    .DeviceDisablePeerAccess = guarded<deviceDisablePeerAccess>,
    .DeviceGetStreamPriorityRange = guarded<deviceGetStreamPriorityRange>,
    .StreamGetDefault = guarded<streamGetDefault>,
    .StreamCreateWithPriority = guarded<streamCreateWithPriority>,
    .StreamDestroy = guarded<streamDestroy>,
    .StreamGetPriority = guarded<streamGetPriority>,
    .StreamGetDevice = guarded<streamGetDevice>,
    .StreamQuery = guarded<streamQuery>,
    .StreamSynchronize = guarded<streamSynchronize>,
    .StreamWaitEvent = guarded<streamWaitEvent>,
    .LaunchHostFunc = guarded<launchHostFunc>,
    .Malloc = guarded<malloc>,
    .Free = guarded<free>,
    .MallocHost = guarded<mallocHost>,
    .FreeHost = guarded<freeHost>,
    .MemGetInfo = guarded<memGetInfo>,
    .PointerGetAttributes = guarded<pointerGetAttributes>,
    .MemcpyWithStream = guarded<memcpyWithStream>,
    .MemcpyAsync = guarded<memcpyAsync>,
    .MemcpyPeerAsync = guarded<memcpyPeerAsync>,
    .MemsetAsync = guarded<memsetAsync>,
    .IpcGetMemHandle = nullptr, // As in the simulator, still to come.
    .IpcOpenMemHandle = nullptr,
    .IpcCloseMemHandle = nullptr,
    .EventCreateWithFlags = guarded<eventCreateWithFlags>,
    .EventDestroy = guarded<eventDestroy>,
    .EventRecord = guarded<eventRecord>,
    .EventQuery = guarded<eventQuery>,
    .EventSynchronize = guarded<eventSynchronize>,
    .EventElapsedTime = guarded<eventElapsedTime>,
    .ModuleLoad = guarded<moduleLoad>,
    .ModuleGetKernel = guarded<moduleGetKernel>,
    .LaunchKernel = guarded<launchKernel>,
    .ActivitySubscribe = nullptr,
    .ActivityUnsubscribe = nullptr,
};

} // namespace

const OrDriver& table() {
  return kTable;
}

} // namespace openreg::process
