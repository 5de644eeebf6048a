/**
 * @file openreg.h
 * @brief The contract between a device and everything above it.
 *
 * A C interface shaped like the CUDA runtime. PyTorch is not mentioned here, and the PyTorch side includes nothing else
 * of the device but headers that describe the arguments of kernels, so whoever has implemented this header has ported
 * the whole backend.
 *
 * **Initialisation.** Nothing is started when the library is loaded. ::orGetDeviceCount reads the configuration only;
 * the first call that needs a device initialises that device: to allocate, pinned memory too, to ask for its memory or
 * its default stream, to make a stream or an event, to load a module.
 *
 * **Current device.** Each host thread has one, 0 at first (::orSetDevice). ::orMalloc, ::orStreamCreate and
 * ::orEventCreate make their object on the calling thread's current device. Calls that take a device index use that one
 * and leave the current device alone. Calls that take a handle or a device pointer work on the device it belongs to.
 * Where there are no devices, calls on the current device return ::orErrorInvalidDevice.
 *
 * **Streams.** Work submitted to one stream runs in the order of submission. Between streams only events order work.
 * Each device has a default stream (::orStreamGetDefault), which is a stream of its own: it neither waits for the
 * others nor makes them wait. A null stream handle is invalid.
 *
 * **Errors.** Errors found at the call are returned there and are not sticky. Errors of asynchronous work surface at
 * the next synchronising call (::orDeviceSynchronize, ::orStreamSynchronize, ::orEventSynchronize, ::orStreamQuery,
 * ::orEventQuery, ::orEventElapsedTime, and the synchronous copies and fills) of the same device and stay: from then on
 * every call that needs that device returns the same code and message until ::orDeviceReset. Work queued behind the
 * failure is not executed; events recorded behind it complete, so that no waiter waits for ever. Other devices go on.
 *
 * **Messages.** The text of an error found at the call (::orGetLastErrorMessage) names the function, the argument, what
 * came, and what was expected. The library adds the function. What came is a number, decimal or hexadecimal, or the
 * word null.
 *
 * **Loss.** A device that is lost (::orErrorDeviceLost) releases whoever waits for it at once, whatever it was running:
 * calls that block, calls that wait for room in a queue, and streams of other devices that wait for an event recorded
 * there. Calls that free or switch something off succeed, the others return the error, until ::orDeviceReset.
 *
 * **Blocking launches.** With `OPENREG_LAUNCH_BLOCKING=1` in the environment, read at the first call that needs the
 * driver, ::orLaunchKernel and the asynchronous copies and fills wait for their work and return its error themselves: a
 * way to find the call that is to blame. Every driver gets this from the library. Any other value than 0, 1 or none is
 * ::orErrorInvalidValue of every call that needs the driver.
 *
 * **Size 0.** Memory of 0 bytes is a null pointer, and freeing it does nothing. Copies and fills of 0 bytes take null
 * pointers, move nothing, and still check their other arguments; the synchronous ones still wait for their stream.
 *
 * **After a reset.** Reset invalidates handles made before it, but freeing an old pointer succeeds (deleters must not
 * throw). Old addresses are not given out again. Any other use of an old handle or pointer is an error at the call,
 * which says that it is from before the reset, and does not fail the device anew.
 *
 * **Fork.** In a forked child every entry returns a clear error, except free and destroy, which do nothing. The error
 * is
 * ::orErrorForked. (A process that forked before it used a device has no such child: there was nothing to inherit.)
 *
 * **Threads.** Every function may be called from any host thread at any time. Two threads that submit to one stream are
 * ordered by whichever submits first.
 */
#ifndef OPENREG_H
#define OPENREG_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define OPENREG_EXPORT __attribute__((visibility("default")))
#else
#define OPENREG_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------------------ errors
 */

/** @defgroup or_errors Errors
 *  @{ */

/** What a call returns. Values never change meaning; new ones are added at the end. */
typedef enum orError_t {
  orSuccess = 0,               /**< The call did what it says. */
  orErrorInvalidValue = 1,     /**< An argument is null, out of range or contradicts another. */
  orErrorMemoryAllocation = 2, /**< The device (or the host, for pinned memory) has not enough free memory. */
  orErrorInvalidDevice = 3,    /**< The device index is not in [0, count). */
  orErrorInvalidHandle = 4,    /**< Null, destroyed, made before a reset, of another kind, or never made here. */
  orErrorNotReady = 5,       /**< The queried work is still running. Not a failure: it is not recorded as last error. */
  orErrorIllegalAddress = 6, /**< Device code was handed memory outside a live allocation. Sticky. */
  orErrorLaunchFailure = 7,  /**< Device code failed for another reason. Sticky. */
  orErrorAssert = 8,         /**< Device code reported an error of its own, such as an index out of range. Sticky. */
  orErrorNotImplemented = 9, /**< The chosen driver lacks this entry; the message is "not implemented: NAME". */
  orErrorDeviceLost = 10,    /**< The device no longer answers. Sticky. */
  orErrorTimedOut = 11,      /**< A deadline passed. Sticky when it was asynchronous work's. */
  orErrorNotFound = 12,      /**< No module, kernel or symbol of that name. */
  orErrorForked = 13,        /**< This process was forked from one that had used the device. */
  orErrorPeerAccessUnsupported = 14,    /**< These two devices cannot read each other's memory. */
  orErrorPeerAccessNotEnabled = 15,     /**< Peer access was to be disabled but is not enabled. */
  orErrorPeerAccessAlreadyEnabled = 16, /**< Peer access is enabled already. */
  orErrorDriver = 17, /**< The driver that OPENREG_DRIVER names cannot be loaded or has the wrong version. */
  orErrorVendor = 18, /**< The vendor's library failed with a code that none of these describes; the message has the
                           vendor's call, code and text. Sticky when it was asynchronous work's. */
  orErrorStreamCaptureUnsupported = 19, /**< The call is not permitted while a capture is under way, which it has made
                                             invalid. */
  orErrorStreamCaptureInvalidated = 20, /**< The capture was made invalid by an earlier call; the message says which. */
  orErrorStreamCaptureUnmatched = 21,   /**< The capture was begun on another stream. */
  orErrorStreamCaptureUnjoined = 22,    /**< A stream that joined the capture has work that its first stream has not
                                             waited for. */
  orErrorStreamCaptureIsolation = 23,   /**< Work that is captured would wait for work that is not, or that belongs to
                                             another capture. */
  orErrorStreamCaptureWrongThread = 24  /**< The capture was begun by another thread, and its mode is not relaxed. */
} orError_t;

/**
 * @brief The enumerator's own spelling, such as "orErrorInvalidValue".
 * @return A static string; "orErrorUnknown" for a value that is not in ::orError_t. Never null. Does not block.
 */
OPENREG_EXPORT const char* orGetErrorName(orError_t error);

/**
 * @brief One sentence about the code, such as "an argument is invalid".
 * @return A static string; "unknown error" for a value that is not in ::orError_t. Never null. Does not block.
 */
OPENREG_EXPORT const char* orGetErrorString(orError_t error);

/**
 * @brief Returns the last error of the calling thread and forgets it.
 *
 * ::orErrorNotReady is never recorded. A sticky error of a device is recorded anew by each call that returns it. Does
 * not block. The message (::orGetLastErrorMessage) stays until another error replaces it.
 */
OPENREG_EXPORT orError_t orGetLastError(void);

/** @brief Returns the last error of the calling thread without forgetting it. Does not block. */
OPENREG_EXPORT orError_t orPeekAtLastError(void);

/**
 * @brief What happened, in words: the function, the argument, what came and what was expected.
 * @return Text owned by the calling thread, valid until its next call that fails; "" if none has failed. Never null.
 * Does not block.
 */
OPENREG_EXPORT const char* orGetLastErrorMessage(void);

/** @} */

/* ------------------------------------------------------------------------------------------------------------ device
 */

/** @defgroup or_device Device
 *  @{ */

/** Properties of one device. */
typedef struct orDeviceProp {
  char name[64];           /**< Null-terminated, such as "OpenReg Simulator". */
  size_t totalGlobalMem;   /**< Device memory in bytes. */
  int major;               /**< Version of the architecture, major part. */
  int minor;               /**< Version of the architecture, minor part. */
  int multiProcessorCount; /**< Threads that execute one kernel at a time. */
  size_t memoryAlignment;  /**< Every pointer from ::orMalloc is a multiple of this many bytes. */
  int synchronousCopies;   /**< 1 if copies can't be queued: the asynchronous ones return when their bytes are there. */
} orDeviceProp;

/**
 * @brief Name of the driver that serves this process, such as "sim".
 * @param[out] name Receives a static string.
 * @return ::orErrorInvalidValue, ::orErrorDriver, ::orErrorForked. Loads the driver, touches no device. Does not block.
 */
OPENREG_EXPORT orError_t orGetDriverName(const char** name);

/**
 * @brief Number of devices. Starts nothing: no thread, no memory, no process.
 * @param[out] count Receives the number, 0 or more.
 * @return ::orErrorInvalidValue, ::orErrorDriver, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orGetDeviceCount(int* count);

/**
 * @brief The calling thread's current device.
 * @param[out] device Receives its index.
 * @return ::orErrorInvalidValue, ::orErrorForked. Does not block.
 */
OPENREG_EXPORT orError_t orGetDevice(int* device);

/**
 * @brief Makes `device` the calling thread's current device. Initialises nothing.
 * @return ::orErrorInvalidDevice, ::orErrorForked. On an error the current device is unchanged. Does not block.
 */
OPENREG_EXPORT orError_t orSetDevice(int device);

/**
 * @brief Tells whether a device has been initialised in this process, without initialising it.
 * @param[out] active Receives 1 or 0.
 * @param device Device index.
 * @return ::orErrorInvalidValue, ::orErrorInvalidDevice, ::orErrorForked. Does not block.
 */
OPENREG_EXPORT orError_t orDeviceGetState(int* active, int device);

/**
 * @brief Properties of a device. Does not initialise it. Does not block.
 * @param[out] properties Receives them.
 * @param device Device index.
 * @return ::orErrorInvalidValue, ::orErrorInvalidDevice, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orGetDeviceProperties(orDeviceProp* properties, int device);

// LITERALINCLUDE START: CONTRACT SYNCHRONIZE
/**
 * @brief Blocks until all work of all streams of `device` submitted before this call is done.
 *
 * Waits for that device and no other. The current device plays no part.
 * @return ::orErrorInvalidDevice, ::orErrorForked, or the device's asynchronous error.
 */
OPENREG_EXPORT orError_t orDeviceSynchronize(int device);
// LITERALINCLUDE END: CONTRACT SYNCHRONIZE

/**
 * @brief Returns `device` to its first state: blocks until its running kernels and functions of the host end, drops
 * what is queued, frees all its memory, clears a sticky error.
 *
 * Streams, events, modules and pointers made before are invalid after; freeing such a pointer succeeds and does
 * nothing. Peer access from and to the device is off again.
 * @return ::orErrorInvalidDevice, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orDeviceReset(int device);

/**
 * @brief Tells whether kernels of `device` can be given memory of `peer`. Does not block.
 * @param[out] canAccess Receives 1 or 0; 0 when both are the same device.
 * @param device Device whose kernels read and write.
 * @param peer Device whose memory it is.
 * @return ::orErrorInvalidValue, ::orErrorInvalidDevice, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orDeviceCanAccessPeer(int* canAccess, int device, int peer);

/**
 * @brief From now on kernels launched on `device` may be given memory of `peer`. One direction only. Does not block.
 * @return ::orErrorInvalidDevice (also when both are the same), ::orErrorPeerAccessUnsupported,
 *         ::orErrorPeerAccessAlreadyEnabled, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orDeviceEnablePeerAccess(int device, int peer);

/**
 * @brief Undoes ::orDeviceEnablePeerAccess. Blocks until work queued on `device` is done.
 * @return ::orErrorInvalidDevice, ::orErrorPeerAccessNotEnabled, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orDeviceDisablePeerAccess(int device, int peer);

/** @} */

/* ------------------------------------------------------------------------------------------------------------ stream
 */

/** @defgroup or_stream Stream
 *  @{ */

/** A queue of work. A value: it may be copied and compared, and using one that is no longer valid is an error, not a
 * crash. */
typedef struct orStream* orStream_t;
/** A point in a stream's work. A value, like ::orStream_t. */
typedef struct orEvent* orEvent_t;

/** Flags of ::orStreamCreateWithPriority. There are none yet. */
enum { orStreamDefault = 0x0 };

/** Function of the host for ::orLaunchHostFunc. */
typedef void (*orHostFn_t)(void* userData);

/**
 * @brief Range of priorities. A smaller number is served first, as in CUDA. Does not block.
 * @param[out] least Receives the number of the lowest priority.
 * @param[out] greatest Receives the number of the highest priority, at most `least`.
 * @param device Device index.
 * @return ::orErrorInvalidValue, ::orErrorInvalidDevice, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orDeviceGetStreamPriorityRange(int* least, int* greatest, int device);

/**
 * @brief The default stream of a device. It exists always and cannot be destroyed. Does not block.
 * @param[out] stream Receives the handle. It becomes invalid when the device is reset.
 * @param device Device index.
 * @return ::orErrorInvalidValue, ::orErrorInvalidDevice, ::orErrorForked, or the device's sticky error.
 */
OPENREG_EXPORT orError_t orStreamGetDefault(orStream_t* stream, int device);

/** @brief ::orStreamCreateWithPriority with ::orStreamDefault and the lowest priority. */
OPENREG_EXPORT orError_t orStreamCreate(orStream_t* stream);

/**
 * @brief Makes a stream on the current device. Cheap: a thread or queue is started at first use. Does not block.
 * @param[out] stream Receives the handle; the caller owns it.
 * @param flags ::orStreamDefault.
 * @param priority Clamped into the device's range.
 * @return ::orErrorInvalidValue, ::orErrorMemoryAllocation (too many streams), ::orErrorForked, or the device's sticky
 *         error.
 */
OPENREG_EXPORT orError_t orStreamCreateWithPriority(orStream_t* stream, unsigned int flags, int priority);

/**
 * @brief Gives the handle back. Work already submitted still runs. Does not block.
 * @return ::orErrorInvalidHandle (also for a default stream, whose message has that word). In a forked child does
 * nothing and returns ::orSuccess.
 */
OPENREG_EXPORT orError_t orStreamDestroy(orStream_t stream);

/**
 * @brief Priority of a stream. Does not block.
 * @return ::orErrorInvalidValue, ::orErrorInvalidHandle, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orStreamGetPriority(orStream_t stream, int* priority);

/**
 * @brief Device of a stream. Does not block.
 * @return ::orErrorInvalidValue, ::orErrorInvalidHandle, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orStreamGetDevice(orStream_t stream, int* device);

/**
 * @brief Tells whether all work submitted to the stream is done: ::orSuccess, or ::orErrorNotReady. Does not block.
 * @return Also ::orErrorInvalidHandle, ::orErrorForked, or the device's asynchronous error.
 */
OPENREG_EXPORT orError_t orStreamQuery(orStream_t stream);

/**
 * @brief Blocks until the work submitted to this stream before the call is done. Waits for no other stream.
 * @return ::orErrorInvalidHandle, ::orErrorForked, or the device's asynchronous error.
 */
OPENREG_EXPORT orError_t orStreamSynchronize(orStream_t stream);

/**
 * @brief Makes work submitted to `stream` after this call wait for the event's version of this moment.
 *
 * Waiting for an event that was never recorded does nothing. Recording the event again later does not move this waiter.
 * The event may belong to another device. Does not block the host.
 * @param stream Who waits.
 * @param event What it waits for.
 * @param flags Must be 0.
 * @return ::orErrorInvalidHandle, ::orErrorInvalidValue, ::orErrorForked, or the sticky error of the stream's device.
 */
OPENREG_EXPORT orError_t orStreamWaitEvent(orStream_t stream, orEvent_t event, unsigned int flags);

/**
 * @brief Queues a function of the host behind the work of the stream; what is submitted later waits for its return.
 *
 * The function must not call this library, nor throw. It may block for long: functions of different streams don't wait
 * for each other, however many there are. It is not called if the device fails before its turn. Does not block.
 * @return ::orErrorInvalidHandle, ::orErrorInvalidValue (null function), ::orErrorMemoryAllocation ("the host cannot
 * start a thread: " and why), ::orErrorForked, or the device's sticky error.
 */
OPENREG_EXPORT orError_t orLaunchHostFunc(orStream_t stream, orHostFn_t function, void* userData);

/** @} */

/* ------------------------------------------------------------------------------------------------------------ memory
 */

/** @defgroup or_memory Memory
 *  @{ */

/** Direction of a copy. */
typedef enum orMemcpyKind {
  orMemcpyHostToHost = 0,     /**< Both pointers are host memory. */
  orMemcpyHostToDevice = 1,   /**< `dst` is device memory. */
  orMemcpyDeviceToHost = 2,   /**< `src` is device memory. */
  orMemcpyDeviceToDevice = 3, /**< Both are memory of one device. */
  orMemcpyDefault = 4         /**< Inferred from the pointers. */
} orMemcpyKind;

/** What a pointer points to. */
typedef enum orMemoryType {
  orMemoryTypeUnregistered = 0, /**< Ordinary host memory, or no memory at all. */
  orMemoryTypeHost = 1,         /**< Pinned, from ::orMallocHost. */
  orMemoryTypeDevice = 2        /**< From ::orMalloc. */
} orMemoryType;

/** Answer of ::orPointerGetAttributes. */
typedef struct orPointerAttributes {
  orMemoryType type; /**< Kind of memory. */
  int device;        /**< Its device; for pinned memory the device current when it was allocated; -1 if unregistered. */
  void* base;        /**< Start of the allocation the pointer lies in, or null. */
  size_t size;       /**< Bytes of that allocation, or 0. */
} orPointerAttributes;

/** Names device memory in another process. */
typedef struct orIpcMemHandle {
  unsigned char reserved[64]; /**< For the driver. */
} orIpcMemHandle;

/**
 * @brief Allocates memory of the current device.
 *
 * Host code can compute with the pointer (it is an address) but never read or write through it. Contents are undefined.
 * Does not block on the device's work.
 * @param[out] ptr Receives the address, aligned to orDeviceProp::memoryAlignment; null when `size` is 0.
 * @param size Bytes. 0 succeeds.
 * @return ::orErrorInvalidValue, ::orErrorMemoryAllocation (its message gives asked, free and total), ::orErrorForked,
 * or the device's sticky error. On an error `*ptr` is null.
 */
OPENREG_EXPORT orError_t orMalloc(void** ptr, size_t size);

/**
 * @brief Frees device memory. `orFree` waits for the device (as cudaFree does).
 *
 * The device is the pointer's, whatever the current one. A null pointer and a pointer from before a reset do nothing.
 * Asynchronous errors do not surface here: on a failed device the memory is freed all the same. Of other devices it
 * waits for copies from and to this memory, and for kernels of those that have access to it. A driver whose device
 * memory is the host's gives it back to the host's system, by large pages.
 * @param ptr Exactly what ::orMalloc gave.
 * @return ::orErrorInvalidValue for a pointer that is not the start of a live allocation (interior, freed already, of
 * the host). In a forked child does nothing and returns ::orSuccess.
 */
OPENREG_EXPORT orError_t orFree(void* ptr);

/**
 * @brief Allocates pinned host memory: readable by the host, and asynchronous copies can use it directly.
 *
 * Pinned pointers are valid in copies only; a kernel that is given one fails with ::orErrorIllegalAddress.
 * @param[out] ptr Receives the address, aligned to at least 64 bytes; null when `size` is 0.
 * @param size Bytes. 0 succeeds.
 * @return ::orErrorInvalidValue, ::orErrorMemoryAllocation (its message gives what was asked), ::orErrorForked. Does
 * not block.
 */
OPENREG_EXPORT orError_t orMallocHost(void** ptr, size_t size);

/**
 * @brief Frees pinned memory. Blocks until queued copies that use it are done. Null does nothing.
 * @return ::orErrorInvalidValue for anything that is not the start of a live pinned allocation. In a forked child does
 *         nothing and returns ::orSuccess.
 */
OPENREG_EXPORT orError_t orFreeHost(void* ptr);

/**
 * @brief Free and total device memory, in bytes. Does not block.
 * @param[out] free Receives the bytes that are not allocated. One allocation of that size may still fail (fragments).
 * @param[out] total Receives the size of the device's memory.
 * @param device Device index.
 * @return ::orErrorInvalidValue, ::orErrorInvalidDevice, ::orErrorForked, or the device's sticky error.
 */
OPENREG_EXPORT orError_t orMemGetInfo(size_t* free, size_t* total, int device);

/**
 * @brief Tells what a pointer points to; interior pointers too. Does not block.
 *
 * An address that belongs to no allocation is ::orMemoryTypeUnregistered, not an error.
 * @return ::orErrorInvalidValue (null `attributes`), ::orErrorForked.
 */
OPENREG_EXPORT orError_t orPointerGetAttributes(orPointerAttributes* attributes, const void* ptr);

/** @brief ::orMemcpyWithStream on the default stream of the current device. */
OPENREG_EXPORT orError_t orMemcpy(void* dst, const void* src, size_t size, orMemcpyKind kind);

/**
 * @brief Copies `size` bytes and returns when they have arrived.
 *
 * A synchronous copy drains its stream; on an idle stream the caller may do the copy itself. Blocks until the work
 * submitted to `stream` before it, and the copy, are done.
 * @param dst Where to. Device memory must belong to the stream's device and lie in one live allocation with all its
 * bytes.
 * @param src Where from; likewise.
 * @param size Bytes; 0 copies nothing and still drains the stream.
 * @param kind Direction; it must agree with the pointers.
 * @param stream Stream in whose order the copy happens.
 * @return ::orErrorInvalidValue, ::orErrorInvalidHandle, ::orErrorForked, or the device's asynchronous error.
 */
OPENREG_EXPORT orError_t
orMemcpyWithStream(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream);

/**
 * @brief Queues a copy on `stream`.
 *
 * Does not block when the host memory is pinned or there is none; that memory must stay alive and, as a source,
 * unchanged until the copy is done. With pageable host memory it behaves as ::orMemcpyWithStream (a device cannot be
 * given memory that may move). On a device with orDeviceProp::synchronousCopies it always does.
 * @return As ::orMemcpyWithStream; invalid pointers are found at the call.
 */
OPENREG_EXPORT orError_t orMemcpyAsync(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream);

/** @brief ::orMemcpyPeerAsync on the default stream of `dstDevice`, then waits for it. */
OPENREG_EXPORT orError_t orMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice, size_t size);

/**
 * @brief Queues a copy between two devices (or within one). Needs no peer access: the driver stages where it must.
 *        Does not block.
 * @param dst Memory of `dstDevice`.
 * @param dstDevice Device index.
 * @param src Memory of `srcDevice`.
 * @param srcDevice Device index.
 * @param size Bytes.
 * @param stream Stream of either device. Work of the other device is *not* ordered by it: use an event.
 * @return ::orErrorInvalidValue (a pointer is not of the device named beside it, or is too short),
 *         ::orErrorInvalidDevice, ::orErrorInvalidHandle, ::orErrorForked, or the sticky error of either device: none
 *         that has failed is copied from or to. A copy that was queued before the other device failed may be done.
 */
OPENREG_EXPORT orError_t
orMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t size, orStream_t stream);

/** @brief ::orMemsetAsync on the default stream of the pointer's device, then waits for it. */
OPENREG_EXPORT orError_t orMemset(void* ptr, int value, size_t size);

/**
 * @brief Queues filling `size` bytes of device memory with the low byte of `value`. Does not block.
 * @param ptr Memory of the stream's device.
 * @param value Its low 8 bits are used.
 * @param size Bytes.
 * @param stream Stream.
 * @return ::orErrorInvalidValue, ::orErrorInvalidHandle, ::orErrorForked, or the device's sticky error.
 */
OPENREG_EXPORT orError_t orMemsetAsync(void* ptr, int value, size_t size, orStream_t stream);

// LITERALINCLUDE START: CONTRACT IPC
/**
 * @brief Names a device allocation to other processes of the same user on this machine.
 *
 * The handle is plain bytes, which may travel in any way; it is valid as long as the allocation lives. Asked again, the
 * answer is the same. May block until what the device executes at the moment has ended.
 * @param[out] handle Receives the name.
 * @param ptr Start of a live allocation that ::orMalloc gave in this process.
 * @return ::orErrorInvalidValue, ::orErrorMemoryAllocation (the host has not enough memory or file descriptors),
 *         ::orErrorNotImplemented, ::orErrorForked, or the device's sticky error.
 */
OPENREG_EXPORT orError_t orIpcGetMemHandle(orIpcMemHandle* handle, void* ptr);

/**
 * @brief Gives an allocation of another process an address of the current device here: the same bytes, not a copy.
 *
 * Kernels, copies and fills may use it like an allocation of this device, of which it takes no memory. Streams don't
 * order the work of two processes: whoever shares waits for its work first, or both use an interprocess event. Each
 * call gives an address of its own. When the other process frees its memory or ends, however it does, the address stays
 * valid; what it holds is undefined from the free on, and unchanged by the end. Does not block.
 * @param[out] ptr Receives the address, aligned as those of ::orMalloc; null on an error.
 * @param handle From ::orIpcGetMemHandle of another process with the same driver.
 * @return ::orErrorInvalidValue (a handle of this process; of memory that is gone, or of another user; made-up bytes),
 *         ::orErrorMemoryAllocation (no addresses left), ::orErrorNotImplemented, ::orErrorForked, or the device's
 *         sticky error.
 */
OPENREG_EXPORT orError_t orIpcOpenMemHandle(void** ptr, const orIpcMemHandle* handle);

/**
 * @brief Ends what ::orIpcOpenMemHandle began. Blocks until the device's work is done, as ::orFree does.
 * @param ptr Exactly what ::orIpcOpenMemHandle gave. A pointer from before a reset does nothing.
 * @return ::orErrorInvalidValue, ::orErrorNotImplemented. In a forked child does nothing and returns ::orSuccess.
 */
OPENREG_EXPORT orError_t orIpcCloseMemHandle(void* ptr);
// LITERALINCLUDE END: CONTRACT IPC

/** @} */

/* ------------------------------------------------------------------------------------------------------------- event
 */

/** @defgroup or_event Event
 *  @{ */

/** Flags of ::orEventCreateWithFlags. */
enum {
  orEventDefault = 0x0,       /**< With a time stamp. */
  orEventDisableTiming = 0x2, /**< Without; cheaper, and ::orEventElapsedTime refuses it. */
  orEventInterprocess = 0x4   /**< For ::orIpcGetEventHandle. Only together with ::orEventDisableTiming, as in CUDA. */
};

/** Names an interprocess event in another process. */
typedef struct orIpcEventHandle {
  unsigned char reserved[64]; /**< For the driver. */
} orIpcEventHandle;

/** @brief ::orEventCreateWithFlags with ::orEventDefault. */
OPENREG_EXPORT orError_t orEventCreate(orEvent_t* event);

/**
 * @brief Makes an event on the current device. Does not block.
 * @param[out] event Receives the handle; the caller owns it.
 * @param flags ::orEventDefault, ::orEventDisableTiming, or that with ::orEventInterprocess.
 * @return ::orErrorInvalidValue, ::orErrorMemoryAllocation, ::orErrorForked, or the device's sticky error.
 */
OPENREG_EXPORT orError_t orEventCreateWithFlags(orEvent_t* event, unsigned int flags);

/**
 * @brief Gives the handle back. Records and waits already submitted still take effect. Does not block.
 * @return ::orErrorInvalidHandle. In a forked child does nothing and returns ::orSuccess.
 */
OPENREG_EXPORT orError_t orEventDestroy(orEvent_t event);

/**
 * @brief Queues the event on a stream: it is complete once the work submitted before is done. Does not block.
 *
 * Recording again makes a new version: a waiter waits for the version it saw.
 * @param event Event.
 * @param stream Stream of the event's device.
 * @return ::orErrorInvalidHandle (also for a stream of another device), ::orErrorForked, or the device's sticky error.
 */
OPENREG_EXPORT orError_t orEventRecord(orEvent_t event, orStream_t stream);

/**
 * @brief Tells whether the latest version is complete: ::orSuccess (also if never recorded) or ::orErrorNotReady. Does
 *        not block.
 * @return Also ::orErrorInvalidHandle, ::orErrorForked, or the device's asynchronous error.
 */
OPENREG_EXPORT orError_t orEventQuery(orEvent_t event);

/**
 * @brief Blocks until the version latest at the call is complete; returns at once if the event was never recorded.
 * @return ::orErrorInvalidHandle, ::orErrorForked, or the device's asynchronous error.
 */
OPENREG_EXPORT orError_t orEventSynchronize(orEvent_t event);

/**
 * @brief Milliseconds between the completion of two events. Does not block.
 * @param[out] milliseconds Receives the time; negative if `end` completed first. Resolution: below 1 µs.
 * @param start Event recorded first.
 * @param end Event recorded last, of the same device.
 * @return ::orErrorInvalidValue, ::orErrorInvalidHandle ("was created with orEventDisableTiming", never recorded, or of
 *         two devices; the message says which event and why), ::orErrorNotReady, ::orErrorForked, or the device's
 *         asynchronous error.
 */
OPENREG_EXPORT orError_t orEventElapsedTime(float* milliseconds, orEvent_t start, orEvent_t end);

// LITERALINCLUDE START: CONTRACT IPC EVENT
/**
 * @brief Names an event to other processes of the same user on this machine. Does not block.
 *
 * With ::orIpcOpenEventHandle it becomes an event of theirs: either side records it on streams of its own, and queries,
 * awaits and synchronises the version that was recorded last, wherever that was. This is how work of two processes on
 * shared memory is ordered without either of them waiting on the host. When a process ends, what it was the last to
 * record is complete.
 * @param[out] handle Receives the name: plain bytes, valid as long as this process has the event.
 * @param event Event with ::orEventInterprocess.
 * @return ::orErrorInvalidValue (an event of another kind), ::orErrorInvalidHandle, ::orErrorNotImplemented,
 *         ::orErrorForked.
 */
OPENREG_EXPORT orError_t orIpcGetEventHandle(orIpcEventHandle* handle, orEvent_t event);

/**
 * @brief Makes an event on the current device of one that another process has named. Does not block.
 * @param[out] event Receives the handle; the caller owns it (::orEventDestroy).
 * @param handle From ::orIpcGetEventHandle of another process with the same driver.
 * @return ::orErrorInvalidValue as ::orIpcOpenMemHandle, ::orErrorMemoryAllocation (too many events),
 *         ::orErrorNotImplemented, ::orErrorForked, or the device's sticky error.
 */
OPENREG_EXPORT orError_t orIpcOpenEventHandle(orEvent_t* event, const orIpcEventHandle* handle);
// LITERALINCLUDE END: CONTRACT IPC EVENT

/** @} */

/* ------------------------------------------------------------------------------------------------- module and kernel
 */

/** @defgroup or_kernel Module and kernel
 *  @{ */

/** A loaded collection of kernels. A value, like ::orStream_t. */
typedef struct orModule* orModule_t;
/** A kernel of a module. A value, like ::orStream_t. */
typedef struct orKernel* orKernel_t;

/** How a kernel uses the memory behind a pointer argument. May be combined. */
enum {
  orAccessRead = 0x1, /**< Reads. */
  orAccessWrite = 0x2 /**< Writes. */
};

/**
 * One pointer among a launch's argument bytes. With it a driver can translate the pointer, check its bounds and send
 * the launch to another process without knowing the kernel. Two of a launch may be of the same pointer, say one of what
 * is read and one of what is written: each is checked.
 */
typedef struct orPointerArg {
  uint32_t offset; /**< Where the pointer is in the argument bytes; a multiple of 8. */
  uint32_t access; /**< ::orAccessRead, ::orAccessWrite or both. */
  int64_t lower;   /**< First byte used, relative to the pointer; negative when strides are. */
  uint64_t extent; /**< Bytes used from there on; 0 if the kernel touches nothing (the pointer may then be null). */
} orPointerArg;

/**
 * @brief Loads a module on the current device. Modules that the driver brings along go by name, others by path (a name
 *        with a slash in it). Loading one twice gives the same handle. Blocks while loading.
 *
 * A relative path begins at the calling process's current folder of this moment, wherever the device lives. The file is
 * copied during the call: what becomes of it later does not matter to the device, and a library in it is not found by
 * its folder ($ORIGIN). A file that has been changed or replaced since it was loaded is another module.
 * @param[out] module Receives the handle, valid until the device is reset. There is no call that unloads a module. A
 *             process has room for at least 4096 of them at a time; a reset of their device gives it back.
 * @param name "openreg" for the kernels of this repository.
 * @return ::orErrorInvalidValue, ::orErrorNotFound, ::orErrorMemoryAllocation (too many modules),
 *         ::orErrorNotImplemented, ::orErrorForked, or the device's sticky error.
 */
OPENREG_EXPORT orError_t orModuleLoad(orModule_t* module, const char* name);

/**
 * @brief Finds a kernel by name. This is also how one asks what a device can do. Does not block.
 * @param[out] kernel Receives the handle, valid as long as the module.
 * @param module Module.
 * @param name Null-terminated.
 * @return ::orErrorInvalidValue, ::orErrorInvalidHandle, ::orErrorNotFound, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orModuleGetKernel(orKernel_t* kernel, orModule_t module, const char* name);

/** Largest number of argument bytes of a launch. */
#define OPENREG_MAX_ARGUMENT_BYTES 4096
/** Largest number of pointers of a launch. */
#define OPENREG_MAX_POINTER_ARGS 64

/**
 * @brief Queues a kernel. Arguments are copied before the call returns. Does not block (but for room in a full queue).
 *
 * When its turn comes, each pointer must lie with all its bytes in one live allocation of the stream's device, or of a
 * peer it has access to; else the device fails with ::orErrorIllegalAddress and the kernel's name. A pointer from
 * before a reset is found at the call: ::orErrorInvalidValue.
 * @param kernel Kernel of a module loaded on the stream's device.
 * @param args Argument bytes: the plain struct that the kernel declares. May be null if `argsSize` is 0.
 * @param argsSize Bytes, at most ::OPENREG_MAX_ARGUMENT_BYTES.
 * @param pointers Which of the bytes are device pointers. May be null if `pointerCount` is 0.
 * @param pointerCount At most ::OPENREG_MAX_POINTER_ARGS.
 * @param stream Stream.
 * @return ::orErrorInvalidValue, ::orErrorInvalidHandle, ::orErrorForked, or the device's sticky error.
 */
OPENREG_EXPORT orError_t orLaunchKernel(
    orKernel_t kernel,
    const void* args,
    size_t argsSize,
    const orPointerArg* pointers,
    size_t pointerCount,
    orStream_t stream);

/** @} */

/* ------------------------------------------------------------------------------------------------------------- graph
 */

/** @defgroup or_graph Graph
 *
 * Work that is submitted again and again can be captured once and launched as a whole. A capture begins on a stream.
 * Until it ends, kernels, asynchronous copies and fills, and functions of the host that are submitted to that stream
 * are recorded and not executed. Another stream joins the capture when it waits for an event that was recorded in it,
 * and must be joined in turn: the first stream waits, by an event, for the last work of all others before the capture
 * ends. All streams of a capture are of one device.
 *
 * | here                              | CUDA                                            |
 * |-----------------------------------|-------------------------------------------------|
 * | orStreamBeginCapture              | cudaStreamBeginCapture                          |
 * | orStreamEndCapture                | cudaStreamEndCapture                            |
 * | orStreamGetCaptureInfo            | cudaStreamGetCaptureInfo                        |
 * | orThreadExchangeStreamCaptureMode | cudaThreadExchangeStreamCaptureMode             |
 * | orGraphGetNodeCount               | cudaGraphGetNodes                               |
 * | orGraphDebugDotPrint              | cudaGraphDebugDotPrint                          |
 * | orGraphInstantiate                | cudaGraphInstantiate                            |
 * | orGraphExecKernelNodeSetParams    | cudaGraphExecKernelNodeSetParams                |
 * | orGraphLaunch                     | cudaGraphLaunch                                 |
 * | orGraphDestroy, orGraphExecDestroy | cudaGraphDestroy, cudaGraphExecDestroy         |
 *
 * **What a graph remembers.** Addresses, sizes and argument bytes as they were, not what the memory holds: each launch
 * reads what is there by then. The memory must stay allocated as long as the graph is launched; what is freed is found
 * when its turn comes (::orErrorIllegalAddress), pinned memory at the launch. A function of the host is called at each
 * launch.
 *
 * **What cannot be captured** makes the capture invalid, with ::orErrorStreamCaptureUnsupported: to query or
 * synchronise a stream that captures or an event that was recorded in a capture, a synchronous copy on such a stream, a
 * copy of pageable memory (its bytes would be read at the launch, when they may be gone), an interprocess event. So do,
 * by the capture's mode, calls that may wait for the device: ::orDeviceSynchronize, ::orDeviceReset, ::orMalloc,
 * ::orFree,
 * ::orMallocHost, ::orFreeHost, ::orDeviceDisablePeerAccess, ::orIpcGetMemHandle, ::orIpcCloseMemHandle.
 *
 * **Events.** An event that was recorded in a capture is a point of that capture, and is there to be waited for. Once
 * the capture has ended, the event counts as never recorded.
 *  @{ */

/** Captured work. A value, like ::orStream_t. */
typedef struct orGraph* orGraph_t;
/** A graph that can be launched. A value, like ::orStream_t. */
typedef struct orGraphExec* orGraphExec_t;

// LITERALINCLUDE START: CONTRACT CAPTURE
/** Which calls that may wait for the device are refused while a capture is under way. */
typedef enum orStreamCaptureMode {
  orStreamCaptureModeGlobal = 0,      /**< Those of every thread whose own mode is this, too. */
  orStreamCaptureModeThreadLocal = 1, /**< Those of the thread that captures. */
  orStreamCaptureModeRelaxed = 2      /**< None. Any thread may end the capture. */
} orStreamCaptureMode;

/** Whether a stream captures. */
typedef enum orStreamCaptureStatus {
  orStreamCaptureStatusNone = 0,       /**< It executes what is submitted. */
  orStreamCaptureStatusActive = 1,     /**< It captures. */
  orStreamCaptureStatusInvalidated = 2 /**< It captures, and the capture can only be ended. */
} orStreamCaptureStatus;

/**
 * @brief From now on work submitted to `stream` is recorded. Does not block.
 * @param stream Any stream, a default stream too, that doesn't capture.
 * @param mode What it forbids meanwhile.
 * @return ::orErrorInvalidValue (no such mode, or the stream captures already), ::orErrorInvalidHandle,
 *         ::orErrorNotImplemented, ::orErrorForked, or the device's sticky error.
 */
OPENREG_EXPORT orError_t orStreamBeginCapture(orStream_t stream, orStreamCaptureMode mode);

/**
 * @brief Ends a capture, whatever has become of it: its streams execute again. Does not block.
 * @param stream The stream on which it was begun.
 * @param[out] graph Receives the handle, which the caller owns; null on an error.
 * @return ::orErrorInvalidValue (it doesn't capture), ::orErrorStreamCaptureUnmatched and
 *         ::orErrorStreamCaptureWrongThread (then the capture goes on), ::orErrorStreamCaptureInvalidated,
 *         ::orErrorStreamCaptureUnjoined, ::orErrorMemoryAllocation (too many graphs), ::orErrorInvalidHandle,
 *         ::orErrorNotImplemented, ::orErrorForked, or the device's sticky error.
 */
OPENREG_EXPORT orError_t orStreamEndCapture(orStream_t stream, orGraph_t* graph);

/**
 * @brief Tells whether a stream captures, and in which capture. Does not block, and disturbs no capture.
 * @param stream Stream.
 * @param[out] status Receives it.
 * @param[out] id Receives the capture's number, unique in the process; 0 if there is none. May be null.
 * @return ::orErrorInvalidValue, ::orErrorInvalidHandle, ::orErrorNotImplemented, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orStreamGetCaptureInfo(orStream_t stream, orStreamCaptureStatus* status, uint64_t* id);

/**
 * @brief Exchanges the calling thread's mode, at first ::orStreamCaptureModeGlobal, which says how much it heeds
 * captures.
 *
 * With Global, calls that may wait for the device are refused while this thread has a capture that is not relaxed, or
 * another one a global capture; with ThreadLocal, while this thread has one; with Relaxed, never: for an allocator that
 * knows what it does. Does not block.
 * @param[in,out] mode The new one; receives the old one.
 * @return ::orErrorInvalidValue, ::orErrorNotImplemented, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orThreadExchangeStreamCaptureMode(orStreamCaptureMode* mode);
// LITERALINCLUDE END: CONTRACT CAPTURE

// LITERALINCLUDE START: CONTRACT GRAPH
/**
 * @brief Number of nodes: one for each kernel, copy, fill and function of the host. Does not block.
 * @return ::orErrorInvalidValue, ::orErrorInvalidHandle, ::orErrorNotImplemented, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orGraphGetNodeCount(orGraph_t graph, size_t* count);

/**
 * @brief Writes a graph as a picture for Graphviz: its nodes, in the order of submission, and what each waits for.
 * @param graph Graph.
 * @param path File, which is replaced.
 * @return ::orErrorInvalidValue (the file cannot be written; the message says why), ::orErrorInvalidHandle,
 *         ::orErrorNotImplemented, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orGraphDebugDotPrint(orGraph_t graph, const char* path);

/** @brief Gives the handle back. What was made of the graph by ::orGraphInstantiate stays. Does not block.
 *  @return ::orErrorInvalidHandle. In a forked child does nothing and returns ::orSuccess. */
OPENREG_EXPORT orError_t orGraphDestroy(orGraph_t graph);

/**
 * @brief Makes of a graph what can be launched: all that is known beforehand is done here, once. May block shortly.
 * @param[out] exec Receives the handle; the caller owns it.
 * @param graph Graph.
 * @return ::orErrorInvalidValue, ::orErrorInvalidHandle, ::orErrorMemoryAllocation (too many), ::orErrorNotImplemented,
 *         ::orErrorForked, or the device's sticky error.
 */
OPENREG_EXPORT orError_t orGraphInstantiate(orGraphExec_t* exec, orGraph_t graph);

/**
 * @brief Gives a kernel of a graph other arguments, from the next launch on. Those submitted already keep theirs. Does
 *        not block.
 * @param exec Graph.
 * @param node Number of the node, in the order of submission, from 0 on.
 * @param args As in ::orLaunchKernel, and all that follow.
 * @return Of ::orLaunchKernel, and ::orErrorInvalidValue for a node that isn't there or is no kernel,
 *         ::orErrorNotImplemented.
 */
OPENREG_EXPORT orError_t orGraphExecKernelNodeSetParams(
    orGraphExec_t exec,
    size_t node,
    const void* args,
    size_t argsSize,
    const orPointerArg* pointers,
    size_t pointerCount);

/**
 * @brief Queues all of a graph on a stream: each node after those it depends on, in any order besides, and what is
 *        submitted after this call behind all of it. Does not block.
 * @param exec Graph.
 * @param stream Stream of the graph's device that doesn't capture.
 * @return ::orErrorInvalidHandle (also for a stream of another device), ::orErrorInvalidValue (pinned memory that was
 *         freed), ::orErrorStreamCaptureUnsupported, ::orErrorNotImplemented, ::orErrorForked, or the device's sticky
 *         error.
 */
OPENREG_EXPORT orError_t orGraphLaunch(orGraphExec_t exec, orStream_t stream);

/** @brief Gives the handle back. Launches already submitted still run. Does not block.
 *  @return ::orErrorInvalidHandle. In a forked child does nothing and returns ::orSuccess. */
OPENREG_EXPORT orError_t orGraphExecDestroy(orGraphExec_t exec);
// LITERALINCLUDE END: CONTRACT GRAPH

/** @} */

/* ---------------------------------------------------------------------------------------------------------- activity
 */

/** @defgroup or_activity Activity
 *  @{ */

/** A subscription of ::orActivitySubscribe. A value, like ::orStream_t. */
typedef struct orSubscriber* orSubscriber_t;
// LITERALINCLUDE START: CONTRACT ACTIVITY
/** Kind of activity. Values never change meaning; new ones are added at the end: pass over what you don't know. */
typedef enum orActivityKind {
  orActivityKernel = 0,       /**< A kernel ran on a stream. */
  orActivityMemcpy = 1,       /**< A copy ran. */
  orActivityMemset = 2,       /**< A fill ran. */
  orActivityWait = 3,         /**< A stream waited for an event. */
  orActivityHostFunction = 4, /**< A function of ::orLaunchHostFunc ran. */
  orActivityCall = 5,         /**< The host called an entry that submits work, waits for it, or loads a module. */
  orActivityAllocation = 6,   /**< The host called ::orMalloc or ::orMallocHost. */
  orActivityFree = 7          /**< The host called ::orFree or ::orFreeHost. */
} orActivityKind;

/** One thing that a device or the host has done. Grows at its end: look at `size` before you read a later field. */
typedef struct orActivityRecord {
  size_t size;            /**< sizeof(orActivityRecord) where the record was made. */
  orActivityKind kind;    /**< What it was. */
  int device;             /**< Index of the device; -1 for an orActivityCall. */
  orStream_t stream;      /**< On which stream; to compare only, as it may have been destroyed. Null for the host. */
  uint64_t correlation;   /**< Number of the call that caused it, unique in the process; the call has it, too. */
  int64_t startNs;        /**< Start in nanoseconds of CLOCK_MONOTONIC. */
  int64_t endNs;          /**< End likewise. */
  const char* name;       /**< Of the kernel or the entry; else "memcpy", "memset", "wait", "host function". Static. */
  uint64_t bytes;         /**< Bytes moved, filled, allocated or freed; else 0. */
  orMemcpyKind direction; /**< Of a copy; else ::orMemcpyDefault. */
  orMemoryType host;      /**< Of a copy from or to the host: pinned memory or not. */
  int peer;               /**< Of a copy between two devices: the one whose stream it isn't; else -1. */
  const void* address;    /**< Allocated or freed; else, and where that has failed, null. */
} orActivityRecord;
// LITERALINCLUDE END: CONTRACT ACTIVITY
/**
 * Receives records. Those of the kinds orActivityCall, orActivityAllocation and orActivityFree come on the thread that
 * called, at the end of the call; the others on a thread of the driver, or on one that waits for the device. Several
 * threads may be in it at once. The record is valid during the call. Must not call this library, nor throw.
 */
typedef void (*orActivityFn_t)(const orActivityRecord* record, void* userData);

/** So many subscriptions there may be at a time. */
#define OPENREG_MAX_SUBSCRIBERS 8

/**
 * @brief From now on `function` receives records of every device and of every thread. Does not block.
 *
 * Recorded is what is submitted while somebody listens and is executed. Its record has been delivered before a call
 * returns that waits for the work and surfaces its error (see **Errors** above).
 * @param[out] subscriber Receives the handle.
 * @param function Callback.
 * @param userData Passed to it.
 * @return ::orErrorInvalidValue, ::orErrorMemoryAllocation (too many subscriptions), ::orErrorNotImplemented,
 *         ::orErrorForked.
 */
OPENREG_EXPORT orError_t orActivitySubscribe(orSubscriber_t* subscriber, orActivityFn_t function, void* userData);

/**
 * @brief Ends a subscription. Blocks until no callback of it is running, and none will be. Waits for no device: what is
 *        to be seen of the work under way is for the caller to wait for, before.
 * @return ::orErrorInvalidHandle, ::orErrorNotImplemented. In a forked child does nothing and returns ::orSuccess.
 */
OPENREG_EXPORT orError_t orActivityUnsubscribe(orSubscriber_t subscriber);

/** @} */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* OPENREG_H */
