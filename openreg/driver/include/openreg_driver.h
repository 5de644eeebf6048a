/**
 * @file openreg_driver.h
 * @brief What a driver implements: one table of functions.
 *
 * The entry points of openreg.h check arguments, keep each thread's current device and last error, and then call the
 * table of the driver that `OPENREG_DRIVER` chose: `sim` (the default), `process`, `fake`, or the path of a shared
 * library that exports ::orGetDriver. An entry that is null reports "not implemented: NAME", so a half-written driver
 * runs as far as it can and tells what is next.
 *
 * What has been checked when a table entry is called: out-pointers are not null, enumerations and flags are in range,
 * device indices are in [0, count), the process is not a forked child. What a driver checks itself: handles, memory,
 * and whether the device has failed.
 *
 * Table entries may be called from any thread at any time. They describe an error with ::orDriverError and return its
 * code.
 */
#ifndef OPENREG_DRIVER_H
#define OPENREG_DRIVER_H

#include "openreg.h"
#include "openreg_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the contract. It grows when the meaning of an entry changes; adding entries at the end only grows `size`.
 */
#define OPENREG_DRIVER_VERSION 1u

/**
 * The functions of a driver. Entry NAME serves the function orNAME of openreg.h and means what is said there; where
 * orNAME uses the current device, the entry is given its index. New entries are added at the end only.
 */
typedef struct OrDriver {
  size_t size;      /**< sizeof(OrDriver) where the driver was compiled. Entries beyond it are missing. */
  uint32_t version; /**< ::OPENREG_DRIVER_VERSION where the driver was compiled. */
  const char* name; /**< Short name, such as "sim". */

  /** A driver that finds no device may say why: by orDriverError(orErrorInvalidDevice, "no device: …") before it
   * returns
   * ::orSuccess. */
  orError_t (*GetDeviceCount)(int* count);
  orError_t (*DeviceGetState)(int* active, int device);
  orError_t (*GetDeviceProperties)(orDeviceProp* properties, int device);
  orError_t (*DeviceSynchronize)(int device);
  orError_t (*DeviceReset)(int device);
  orError_t (*DeviceCanAccessPeer)(int* canAccess, int device, int peer);
  orError_t (*DeviceEnablePeerAccess)(int device, int peer);
  orError_t (*DeviceDisablePeerAccess)(int device, int peer);

  orError_t (*DeviceGetStreamPriorityRange)(int* least, int* greatest, int device);
  orError_t (*StreamGetDefault)(orStream_t* stream, int device);
  orError_t (*StreamCreateWithPriority)(orStream_t* stream, unsigned int flags, int priority, int device);
  orError_t (*StreamDestroy)(orStream_t stream);
  orError_t (*StreamGetPriority)(orStream_t stream, int* priority);
  orError_t (*StreamGetDevice)(orStream_t stream, int* device);
  orError_t (*StreamQuery)(orStream_t stream);
  orError_t (*StreamSynchronize)(orStream_t stream);
  orError_t (*StreamWaitEvent)(orStream_t stream, orEvent_t event, unsigned int flags);
  orError_t (*LaunchHostFunc)(orStream_t stream, orHostFn_t function, void* userData);

  orError_t (*Malloc)(void** ptr, size_t size, int device);
  orError_t (*Free)(void* ptr);
  orError_t (*MallocHost)(void** ptr, size_t size, int device);
  orError_t (*FreeHost)(void* ptr);
  orError_t (*MemGetInfo)(size_t* free, size_t* total, int device);
  orError_t (*PointerGetAttributes)(orPointerAttributes* attributes, const void* ptr);
  orError_t (*MemcpyWithStream)(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream);
  orError_t (*MemcpyAsync)(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream);
  orError_t (*MemcpyPeerAsync)(
      void* dst, int dstDevice, const void* src, int srcDevice, size_t size, orStream_t stream);
  orError_t (*MemsetAsync)(void* ptr, int value, size_t size, orStream_t stream);
  orError_t (*IpcGetMemHandle)(orIpcMemHandle* handle, void* ptr);
  orError_t (*IpcOpenMemHandle)(void** ptr, const orIpcMemHandle* handle, int device);
  orError_t (*IpcCloseMemHandle)(void* ptr);

  orError_t (*EventCreateWithFlags)(orEvent_t* event, unsigned int flags, int device);
  orError_t (*EventDestroy)(orEvent_t event);
  orError_t (*EventRecord)(orEvent_t event, orStream_t stream);
  orError_t (*EventQuery)(orEvent_t event);
  orError_t (*EventSynchronize)(orEvent_t event);
  orError_t (*EventElapsedTime)(float* milliseconds, orEvent_t start, orEvent_t end);

  orError_t (*ModuleLoad)(orModule_t* module, const char* name, int device);
  orError_t (*ModuleGetKernel)(orKernel_t* kernel, orModule_t module, const char* name);
  orError_t (*LaunchKernel)(
      orKernel_t kernel,
      const void* args,
      size_t argsSize,
      const orPointerArg* pointers,
      size_t pointerCount,
      orStream_t stream);

  /* The library subscribes when its first subscriber comes, and ends that when the last one leaves: a driver has one
   * at a time, and delivers the work of devices. The calls of the host are recorded by the library itself. */
  orError_t (*ActivitySubscribe)(orSubscriber_t* subscriber, orActivityFn_t function, void* userData);
  orError_t (*ActivityUnsubscribe)(orSubscriber_t subscriber);

  orError_t (*IpcGetEventHandle)(orIpcEventHandle* handle, orEvent_t event);
  orError_t (*IpcOpenEventHandle)(orEvent_t* event, const orIpcEventHandle* handle, int device);

  orError_t (*StreamBeginCapture)(orStream_t stream, orStreamCaptureMode mode);
  orError_t (*StreamEndCapture)(orStream_t stream, orGraph_t* graph);
  orError_t (*StreamGetCaptureInfo)(orStream_t stream, orStreamCaptureStatus* status, uint64_t* id);
  orError_t (*ThreadExchangeStreamCaptureMode)(orStreamCaptureMode* mode);
  orError_t (*GraphGetNodeCount)(orGraph_t graph, size_t* count);
  orError_t (*GraphDebugDotPrint)(orGraph_t graph, const char* path);
  orError_t (*GraphDestroy)(orGraph_t graph);
  orError_t (*GraphInstantiate)(orGraphExec_t* exec, orGraph_t graph);
  orError_t (*GraphExecKernelNodeSetParams)(
      orGraphExec_t exec,
      size_t node,
      const void* args,
      size_t argsSize,
      const orPointerArg* pointers,
      size_t pointerCount);
  orError_t (*GraphLaunch)(orGraphExec_t exec, orStream_t stream);
  orError_t (*GraphExecDestroy)(orGraphExec_t exec);
} OrDriver;

/**
 * @brief A driver that lives in a shared library of its own exports this function.
 * @param version ::OPENREG_DRIVER_VERSION of the library that loads it.
 * @return The table, which must stay valid for the life of the process; null if that version cannot be served.
 */
OPENREG_EXPORT const OrDriver* orGetDriver(uint32_t version);

/**
 * @brief For drivers: sets the message that the failing call will have, and returns `error`.
 *
 * The entry point puts the function's name in front ("orFree: "), so the text starts with the argument.
 * @param error What the table entry is going to return.
 * @param format As printf, with what came and what was expected. A null pointer reads "null" for "%p".
 */
OPENREG_EXPORT orError_t orDriverError(orError_t error, const char* format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/**
 * @brief For drivers: the number of the call that the thread is in, for orActivityRecord::correlation; 0 if nobody
 *        listens, and then the work that the call submits has no record.
 */
OPENREG_EXPORT uint64_t orDriverCorrelation(void);

/**
 * @brief For drivers whose device code runs on the host's processor: the kernels of the module "openreg".
 * @param[out] count Receives their number.
 * @return The table, valid for the life of the process. Starts nothing.
 */
OPENREG_EXPORT const orKernelEntry* orDriverKernels(size_t* count);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* OPENREG_DRIVER_H */
