/**
 * @file openreg_kernel.h
 * @brief What device code sees: its arguments, a loop that may run in parallel, and a way to report an error.
 *
 * Kernels are plain C++ without PyTorch and without the entry points of openreg.h. A kernel is a function of its
 * argument struct; by the time it runs, the driver has replaced each device pointer among the arguments (orPointerArg)
 * by an address that device code can use.
 *
 * A kernel or the body of a loop may throw, in whichever thread: a driver in C++ makes that the kernel's error,
 * ::orErrorMemoryAllocation for std::bad_alloc and ::orErrorLaunchFailure else. Every thread leaves the loop before
 * that.
 *
 * A process that ends does not wait for its kernels. What they use must last until it has ended: no static object with
 * a destructor, and of libraries that clean up after themselves, a guard such as kernels/linalg/blas.h has.
 */
#ifndef OPENREG_KERNEL_H
#define OPENREG_KERNEL_H

#include "openreg.h"

#ifdef __cplusplus
extern "C" {
#endif

// LITERALINCLUDE START: KERNEL CONTEXT
/** Body of a parallel loop over [begin, end). */
typedef void (*orLoopBody)(void* state, int64_t begin, int64_t end);

/** The services of the device for one running kernel. */
typedef struct orKernelContext {
  /** Runs `body` over [0, count) in pieces of at least `grain`, possibly in several threads; returns when all are done.
   */
  void (*parallelFor)(struct orKernelContext* context, int64_t count, int64_t grain, orLoopBody body, void* state);
  /**
   * Reports an error of the kernel: the device fails with this code (usually ::orErrorAssert) and the kernel's name and
   * this text in the message, which is copied. The first report counts. The kernel returns by itself.
   */
  void (*fail)(struct orKernelContext* context, orError_t error, const char* message);
} orKernelContext;

/** A kernel. `args` are the launch's argument bytes, aligned to 16. */
typedef void (*orKernelFn)(const void* args, orKernelContext* context);
// LITERALINCLUDE END: KERNEL CONTEXT

/** One line of a module's table. */
typedef struct orKernelEntry {
  const char* name;    /**< By which it is found. */
  orKernelFn function; /**< Device code. */
  size_t minArgsSize;  /**< Fewest argument bytes it needs; a launch with fewer is refused as ::orErrorInvalidValue. */
} orKernelEntry;

/**
 * @brief A module in a shared library of its own exports this function.
 * @param[out] count Receives the number of kernels.
 * @return The table, valid for the life of the process.
 */
OPENREG_EXPORT const orKernelEntry* orGetKernels(size_t* count);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* OPENREG_KERNEL_H */
