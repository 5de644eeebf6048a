// What `python -m torch_openreg.kernels` calls: kernels compiled before a program asks for them, also for a GPU that is
// elsewhere. No part of the contract: a driver whose kernels are in its library has no use for it.
#pragma once

#include "openreg.h"

extern "C" {

/// The kernels of the module "openreg" that are compiled, by name. Starts nothing.
/// @param[out] names Receives an array that lives as long as the process.
/// @param[out] count Receives their number.
OPENREG_EXPORT orError_t orCudaKernels(const char* const** names, size_t* count);

/// The folder in which compiled kernels are kept if nobody names another. The string is the calling thread's until its
/// next call.
OPENREG_EXPORT orError_t orCudaCache(const char** folder);

/// Compiles a kernel into a folder, unless it is there. Needs no GPU and no driver library of NVIDIA's, and blocks for
/// seconds. What the own cache has already is copied.
/// @param kernel Its name, such as "add.float".
/// @param architecture Of the GPU: 90 for sm_90.
/// @param folder Is made if it isn't there.
/// @param[out] made Receives 1 if the kernel is new in the folder, 0 if it was there.
OPENREG_EXPORT orError_t orCudaCompile(const char* kernel, int architecture, const char* folder, int* made);

} // extern "C"
