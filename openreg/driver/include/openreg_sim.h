/**
 * @file openreg_sim.h
 * @brief Controls of the simulator, for tests: delays, failures, pause points.
 *
 * They work when the driver is the simulator, in this process (`sim`) or in subprocesses (`process`). Any other driver
 * returns ::orErrorNotImplemented. An environment variable sets the same, as a comma-separated list, which the library
 * reads at the first call that needs the driver:
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
 * | `only`         | NAME+NAME: of its kernels it has these; `gemm` stands for `gemm.float`, too      | all     |
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

/** @param point The name of a pause point, such as "turn". Called on whichever thread comes there; may block. */
typedef void (*orSimPauseFn_t)(const char* point);

/**
 * @brief From now on a thread that comes to a pause point of the driver `sim` calls `function`: there a test can hold
 * it up, to make two threads meet at a bad moment.
 * @return ::orErrorInvalidValue, ::orErrorNotImplemented, ::orErrorForked. Does not block.
 */
OPENREG_EXPORT orError_t orSimSetPauseFunction(orSimPauseFn_t function);

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
