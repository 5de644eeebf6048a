// The simulator's table.
#include "table.h"

#include <new>
#include <stdexcept>
#include <system_error>

#include "calls.h"

namespace openreg::sim {

namespace {

/// A C function around one that may throw: what the host cannot give becomes an error like any other.
template <auto kFunction>
struct Guarded;

template <class... Args, orError_t (*kFunction)(Args...)>
struct Guarded<kFunction> {
  static orError_t call(Args... args) {
    try {
      return kFunction(args...);
    } catch (const std::invalid_argument& error) {
      return orDriverError(orErrorInvalidValue, "%s", error.what());
    } catch (const std::bad_alloc&) {
      return orDriverError(orErrorMemoryAllocation, "the host is out of memory");
    } catch (const std::system_error& error) {
      return orDriverError(orErrorMemoryAllocation, "the host cannot start a thread: %s", error.what());
    }
  }
};

template <auto kFunction>
constexpr auto guarded = &Guarded<kFunction>::call;

constexpr OrDriver kTable{
    .size = sizeof(OrDriver),
    .version = OPENREG_DRIVER_VERSION,
    .name = "sim",
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
    .IpcGetMemHandle = nullptr, // Sharing memory between processes and activity records are still to come.
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

} // namespace openreg::sim
