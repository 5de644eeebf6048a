/**
 * @file openreg_sim.h
 * @brief Controls of the simulator, for tests: gates, delays, failures.
 *
 * They work when the driver is the simulator, in this process (`sim`) or in subprocesses (`process`), and return
 * ::orErrorNotImplemented else. The same can be said in the
 * environment, read at the first call that needs the driver, as a comma-separated list:
 *
 *     OPENREG_SIM=devices=2,memory=256MiB,check=1,kernel_delay=100us,fail=orMalloc:3:orErrorMemoryAllocation
 *
 * | key            | meaning                                                                          | default |
 * |----------------|----------------------------------------------------------------------------------|---------|
 * | `devices`      | number of devices, 0 to 16                                                       | 2       |
 * | `memory`       | bytes of each device: a number with `B`, `KiB`, `MiB` or `GiB`                   | 4GiB    |
 * | `check`        | 1: fill fresh and freed memory with 0xCB, and say which allocation a SIGSEGV hit | 0       |
 * | `kernel_delay` | every kernel takes this much longer: a number with `us`, `ms` or `s`             | 0       |
 * | `copy_delay`   | every copy and fill likewise                                                     | 0       |
 * | `kernels`      | 0: the module "openreg" has no kernels                                           | 1       |
 * | `pause`        | 1: a thread stands at a pause point of `sim` while a gate of that name is closed | 0       |
 * | `fail`         | ENTRY:N:ERROR, the N-th call of the entry from now on fails; may be repeated      |         |
 *
 * A key or value that is not understood is ::orErrorInvalidValue of every call that needs the driver; the message names
 * it.
 */
#ifndef OPENREG_SIM_H
#define OPENREG_SIM_H

#include "openreg.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A gate closes a stream until it is opened. A value, like ::orStream_t. */
typedef struct orSimGate* orSimGate_t;

/**
 * @brief Makes a closed gate. A gate has a deadline and names itself when it passes.
 * @param[out] gate Receives the handle.
 * @param name Shown when the deadline passes. Copied.
 * @param deadlineSeconds A stream that has stood at the gate for so long fails with ::orErrorTimedOut and the gate's
 * name.
 * @return ::orErrorInvalidValue, ::orErrorNotImplemented, ::orErrorForked. Does not block.
 */
OPENREG_EXPORT orError_t orSimGateCreate(orSimGate_t* gate, const char* name, double deadlineSeconds);

/**
 * @brief Queues the gate on a stream: work submitted later waits until the gate is open. Does not block.
 * @return ::orErrorInvalidHandle, ::orErrorNotImplemented, ::orErrorForked, or the device's sticky error.
 */
OPENREG_EXPORT orError_t orSimStreamGate(orStream_t stream, orSimGate_t gate);

/** @brief Opens a gate for good. Opening an open gate does nothing. @return ::orErrorInvalidHandle. Does not block. */
OPENREG_EXPORT orError_t orSimGateOpen(orSimGate_t gate);

/**
 * @brief Tells whether a stream stands at the gate now. Does not block.
 * @param gate Gate.
 * @param[out] waiting Receives the number of streams that have arrived and wait.
 * @return ::orErrorInvalidHandle, ::orErrorInvalidValue.
 */
OPENREG_EXPORT orError_t orSimGateWaiting(orSimGate_t gate, int* waiting);

/** @brief Opens the gate and gives the handle back. @return ::orErrorInvalidHandle. Does not block. */
OPENREG_EXPORT orError_t orSimGateDestroy(orSimGate_t gate);

/**
 * @brief From now on each kernel, and each copy or fill, of a device takes longer by so many microseconds.
 * @return ::orErrorInvalidDevice, ::orErrorInvalidValue (negative), ::orErrorNotImplemented, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orSimSetDelay(int device, int64_t kernelMicroseconds, int64_t copyMicroseconds);

/**
 * @brief The n-th call of an entry from now on, in any thread, returns `error` and does nothing else.
 * @param entry Name such as "orMalloc".
 * @param n 1 for the next call; 0 takes a failure planned for this entry back.
 * @param error Code to return.
 * @return ::orErrorInvalidValue (no such entry, negative `n`, no such error), ::orErrorNotImplemented, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orSimFailCall(const char* entry, int n, orError_t error);

/**
 * @brief The device fails now with ::orErrorDeviceLost: it finishes nothing, waiters are released (what openreg.h says
 * of a loss), every later call returns the error until ::orDeviceReset. A kernel or function of the host that is
 * running may go on unseen: the reset waits for it.
 * @return ::orErrorInvalidDevice, ::orErrorNotImplemented, ::orErrorForked.
 */
OPENREG_EXPORT orError_t orSimLoseDevice(int device);

/**
 * @brief Number of threads that the simulator has started in this process and that are alive. Does not block.
 * @param[out] count Receives it.
 * @return ::orErrorInvalidValue, ::orErrorNotImplemented.
 */
OPENREG_EXPORT orError_t orSimThreadCount(int* count);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* OPENREG_SIM_H */
