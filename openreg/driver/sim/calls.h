// The simulator's half of each function of openreg.h; api/ has checked what openreg_driver.h says.
#pragma once

#include "openreg_driver.h"

namespace openreg::sim {

orError_t getDeviceCount(int* count);
orError_t deviceGetState(int* active, int device);
orError_t getDeviceProperties(orDeviceProp* properties, int device);
orError_t deviceSynchronize(int device);
orError_t deviceReset(int device);
orError_t deviceCanAccessPeer(int* canAccess, int device, int peer);
orError_t deviceEnablePeerAccess(int device, int peer);
orError_t deviceDisablePeerAccess(int device, int peer);

orError_t deviceGetStreamPriorityRange(int* least, int* greatest, int device);
orError_t streamGetDefault(orStream_t* stream, int device);
orError_t streamCreateWithPriority(orStream_t* stream, unsigned int flags, int priority, int device);
orError_t streamDestroy(orStream_t stream);
orError_t streamGetPriority(orStream_t stream, int* priority);
orError_t streamGetDevice(orStream_t stream, int* device);
orError_t streamQuery(orStream_t stream);
orError_t streamSynchronize(orStream_t stream);
orError_t streamWaitEvent(orStream_t stream, orEvent_t event, unsigned int flags);
orError_t launchHostFunc(orStream_t stream, orHostFn_t function, void* userData);

orError_t malloc(void** ptr, size_t size, int device);
orError_t free(void* ptr);
orError_t mallocHost(void** ptr, size_t size, int device);
orError_t freeHost(void* ptr);
orError_t memGetInfo(size_t* free, size_t* total, int device);
orError_t pointerGetAttributes(orPointerAttributes* attributes, const void* ptr);
orError_t memcpyWithStream(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream);
orError_t memcpyAsync(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream);
orError_t memcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t size, orStream_t stream);
orError_t memsetAsync(void* ptr, int value, size_t size, orStream_t stream);

orError_t eventCreateWithFlags(orEvent_t* event, unsigned int flags, int device);
orError_t eventDestroy(orEvent_t event);
orError_t eventRecord(orEvent_t event, orStream_t stream);
orError_t eventQuery(orEvent_t event);
orError_t eventSynchronize(orEvent_t event);
orError_t eventElapsedTime(float* milliseconds, orEvent_t start, orEvent_t end);

orError_t moduleLoad(orModule_t* module, const char* name, int device);

/// The same, for an executor: its folder is not the program's, who says `name` and means `path`.
orError_t moduleLoadFrom(orModule_t* module, const char* path, const char* name, int device);
orError_t moduleGetKernel(orKernel_t* kernel, orModule_t module, const char* name);
orError_t launchKernel(
    orKernel_t kernel,
    const void* args,
    size_t argsSize,
    const orPointerArg* pointers,
    size_t pointerCount,
    orStream_t stream);

} // namespace openreg::sim
