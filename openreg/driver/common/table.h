// The table of a driver that is made of objects.h.
#pragma once

#include "common/calls/activity_calls.h"
#include "common/calls/copy_calls.h"
#include "common/calls/device_calls.h"
#include "common/calls/event_calls.h"
#include "common/calls/graph_calls.h"
#include "common/calls/ipc_calls.h"
#include "common/calls/kernel_calls.h"
#include "common/calls/memory_calls.h"
#include "common/calls/stream_calls.h"
#include "guarded.h"

namespace openreg {

/// Whether a driver's devices can show their memory to other processes; without it those entries are missing.
template <class Driver>
constexpr bool kSharesMemory = requires(Driver::Device& device, const char* base) { device.share(base); };

template <class Driver>
constexpr void addSharedMemory(OrDriver& table) {
  if constexpr (kSharesMemory<Driver>) {
    table.IpcGetMemHandle = guarded<IpcCalls<Driver>::ipcGetMemHandle>;
    table.IpcOpenMemHandle = guarded<IpcCalls<Driver>::ipcOpenMemHandle>;
    table.IpcCloseMemHandle = guarded<IpcCalls<Driver>::ipcCloseMemHandle>;
  }
}

/// @param name Short name, such as "sim".
template <class Driver>
constexpr OrDriver tableOf(const char* name) {
  using Devices = DeviceCalls<Driver>;
  using Streams = StreamCalls<Driver>;
  using Memories = MemoryCalls<Driver>;
  using Copies = CopyCalls<Driver>;
  using Sharing = IpcCalls<Driver>;
  using Events = EventCalls<Driver>;
  using Kernels = KernelCalls<Driver>;
  using Graphs = GraphCalls<Driver>;
  using Activities = ActivityCalls<Driver>;
  OrDriver table = {
      .size = sizeof(OrDriver),
      .version = OPENREG_DRIVER_VERSION,
      .name = name,
      .GetDeviceCount = guarded<Devices::getDeviceCount>,
      .DeviceGetState = guarded<Devices::deviceGetState>,
      .GetDeviceProperties = guarded<Devices::getDeviceProperties>,
      .DeviceSynchronize = guarded<Devices::deviceSynchronize>,
      .DeviceReset = guarded<Devices::deviceReset>,
      .DeviceCanAccessPeer = guarded<Devices::deviceCanAccessPeer>,
      .DeviceEnablePeerAccess = guarded<Devices::deviceEnablePeerAccess>,
      .DeviceDisablePeerAccess = guarded<Devices::deviceDisablePeerAccess>,
      .DeviceGetStreamPriorityRange = guarded<Streams::deviceGetStreamPriorityRange>,
      .StreamGetDefault = guarded<Streams::streamGetDefault>,
      .StreamCreateWithPriority = guarded<Streams::streamCreateWithPriority>,
      .StreamDestroy = guarded<Streams::streamDestroy>,
      .StreamGetPriority = guarded<Streams::streamGetPriority>,
      .StreamGetDevice = guarded<Streams::streamGetDevice>,
      .StreamQuery = guarded<Streams::streamQuery>,
      .StreamSynchronize = guarded<Streams::streamSynchronize>,
      .StreamWaitEvent = guarded<Streams::streamWaitEvent>,
      .LaunchHostFunc = guarded<Streams::launchHostFunc>,
      .Malloc = guarded<Memories::malloc>,
      .Free = guarded<Memories::free>,
      .MallocHost = guarded<Memories::mallocHost>,
      .FreeHost = guarded<Memories::freeHost>,
      .MemGetInfo = guarded<Memories::memGetInfo>,
      .PointerGetAttributes = guarded<Memories::pointerGetAttributes>,
      .MemcpyWithStream = guarded<Copies::memcpyWithStream>,
      .MemcpyAsync = guarded<Copies::memcpyAsync>,
      .MemcpyPeerAsync = guarded<Copies::memcpyPeerAsync>,
      .MemsetAsync = guarded<Copies::memsetAsync>,
      .IpcGetMemHandle = nullptr,
      .IpcOpenMemHandle = nullptr,
      .IpcCloseMemHandle = nullptr,
      .EventCreateWithFlags = guarded<Events::eventCreateWithFlags>,
      .EventDestroy = guarded<Events::eventDestroy>,
      .EventRecord = guarded<Events::eventRecord>,
      .EventQuery = guarded<Events::eventQuery>,
      .EventSynchronize = guarded<Events::eventSynchronize>,
      .EventElapsedTime = guarded<Events::eventElapsedTime>,
      .ModuleLoad = guarded<Kernels::moduleLoad>,
      .ModuleGetKernel = guarded<Kernels::moduleGetKernel>,
      .LaunchKernel = guarded<Kernels::launchKernel>,
      .ActivitySubscribe = guarded<Activities::activitySubscribe>,
      .ActivityUnsubscribe = guarded<Activities::activityUnsubscribe>,
      .IpcGetEventHandle = guarded<Sharing::ipcGetEventHandle>,
      .IpcOpenEventHandle = guarded<Sharing::ipcOpenEventHandle>,
      .StreamBeginCapture = guarded<Graphs::streamBeginCapture>,
      .StreamEndCapture = guarded<Graphs::streamEndCapture>,
      .StreamGetCaptureInfo = guarded<Graphs::streamGetCaptureInfo>,
      .ThreadExchangeStreamCaptureMode = guarded<Graphs::threadExchangeStreamCaptureMode>,
      .GraphGetNodeCount = guarded<Graphs::graphGetNodeCount>,
      .GraphDebugDotPrint = guarded<Graphs::graphDebugDotPrint>,
      .GraphDestroy = guarded<Graphs::graphDestroy>,
      .GraphInstantiate = guarded<Graphs::graphInstantiate>,
      .GraphExecKernelNodeSetParams = guarded<Graphs::graphExecKernelNodeSetParams>,
      .GraphLaunch = guarded<Graphs::graphLaunch>,
      .GraphExecDestroy = guarded<Graphs::graphExecDestroy>,
  };
  addSharedMemory<Driver>(table);
  return table;
}

} // namespace openreg
