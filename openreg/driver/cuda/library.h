// What this driver uses of libcuda.so.1, declared here: building needs no CUDA toolkit. Names and values are CUDA's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "openreg_driver.h"

namespace openreg::cuda {

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUhandle = unsigned long long; ///< CUmemGenericAllocationHandle: bytes without an address.

enum CUresult : int {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
  CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
  CUDA_ERROR_INVALID_PC = 718,
  CUDA_ERROR_LAUNCH_FAILED = 719,
};

struct CUmemLocation {
  int type;
  int id;
};
struct CUmemAllocationProp {
  int type;
  int requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  unsigned char allocFlags[8];
};
struct CUmemAccessDesc {
  CUmemLocation location;
  int flags;
};

constexpr int CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16;
constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75;
constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
constexpr unsigned CU_STREAM_WAIT_VALUE_GEQ = 0;
constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;
constexpr unsigned CU_MEMHOSTALLOC_PORTABLE = 1;
constexpr unsigned CU_MEMHOSTALLOC_DEVICEMAP = 2;
constexpr int CU_MEM_ALLOCATION_TYPE_PINNED = 1;
constexpr int CU_MEM_LOCATION_TYPE_DEVICE = 1;
constexpr int CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3;

// Each function, its symbol in the library, and its parameters.
#define OPENREG_CUDA_FUNCTIONS(_)                                                                                      \
  _(cuInit, "cuInit", unsigned)                                                                                        \
  _(cuDriverGetVersion, "cuDriverGetVersion", int*)                                                                    \
  _(cuGetErrorName, "cuGetErrorName", CUresult, const char**)                                                          \
  _(cuGetErrorString, "cuGetErrorString", CUresult, const char**)                                                      \
  _(cuDeviceGet, "cuDeviceGet", CUdevice*, int)                                                                        \
  _(cuDeviceGetCount, "cuDeviceGetCount", int*)                                                                        \
  _(cuDeviceGetName, "cuDeviceGetName", char*, int, CUdevice)                                                          \
  _(cuDeviceTotalMem, "cuDeviceTotalMem_v2", size_t*, CUdevice)                                                        \
  _(cuDeviceGetAttribute, "cuDeviceGetAttribute", int*, int, CUdevice)                                                 \
  _(cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer", int*, CUdevice, CUdevice)                                          \
  _(cuCtxCreate, "cuCtxCreate_v2", CUcontext*, unsigned, CUdevice)                                                     \
  _(cuCtxDestroy, "cuCtxDestroy_v2", CUcontext)                                                                        \
  _(cuCtxSetCurrent, "cuCtxSetCurrent", CUcontext)                                                                     \
  _(cuCtxSynchronize, "cuCtxSynchronize")                                                                              \
  _(cuCtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange", int*, int*)                                            \
  _(cuMemAddressReserve, "cuMemAddressReserve", CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long)         \
  _(cuMemCreate, "cuMemCreate", CUhandle*, size_t, const CUmemAllocationProp*, unsigned long long)                     \
  _(cuMemRelease, "cuMemRelease", CUhandle)                                                                            \
  _(cuMemMap, "cuMemMap", CUdeviceptr, size_t, size_t, CUhandle, unsigned long long)                                   \
  _(cuMemUnmap, "cuMemUnmap", CUdeviceptr, size_t)                                                                     \
  _(cuMemSetAccess, "cuMemSetAccess", CUdeviceptr, size_t, const CUmemAccessDesc*, size_t)                             \
  _(cuMemAlloc, "cuMemAlloc_v2", CUdeviceptr*, size_t)                                                                 \
  _(cuMemHostAlloc, "cuMemHostAlloc", void**, size_t, unsigned)                                                        \
  _(cuMemFreeHost, "cuMemFreeHost", void*)                                                                             \
  _(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", CUdeviceptr*, void*, unsigned)                          \
  _(cuMemcpyAsync, "cuMemcpyAsync", CUdeviceptr, CUdeviceptr, size_t, CUstream)                                        \
  _(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", CUdeviceptr, const void*, size_t, CUstream)                             \
  _(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", void*, CUdeviceptr, size_t, CUstream)                                   \
  _(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", CUdeviceptr, CUdeviceptr, size_t, CUstream)                             \
  _(cuMemcpyPeerAsync, "cuMemcpyPeerAsync", CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream)          \
  _(cuMemsetD8Async, "cuMemsetD8Async", CUdeviceptr, unsigned char, size_t, CUstream)                                  \
  _(cuStreamCreateWithPriority, "cuStreamCreateWithPriority", CUstream*, unsigned, int)                                \
  _(cuStreamDestroy, "cuStreamDestroy_v2", CUstream)                                                                   \
  _(cuStreamQuery, "cuStreamQuery", CUstream)                                                                          \
  _(cuStreamSynchronize, "cuStreamSynchronize", CUstream)                                                              \
  _(cuStreamWaitEvent, "cuStreamWaitEvent", CUstream, CUevent, unsigned)                                               \
  _(cuStreamWaitValue32, "cuStreamWaitValue32_v2", CUstream, CUdeviceptr, uint32_t, unsigned)                          \
  _(cuLaunchHostFunc, "cuLaunchHostFunc", CUstream, void (*)(void*), void*)                                            \
  _(cuEventCreate, "cuEventCreate", CUevent*, unsigned)                                                                \
  _(cuEventRecord, "cuEventRecord", CUevent, CUstream)                                                                 \
  _(cuEventQuery, "cuEventQuery", CUevent)                                                                             \
  _(cuEventSynchronize, "cuEventSynchronize", CUevent)                                                                 \
  _(cuEventElapsedTime, "cuEventElapsedTime", float*, CUevent, CUevent)                                                \
  _(cuModuleLoadData, "cuModuleLoadData", CUmodule*, const void*)                                                      \
  _(cuModuleGetFunction, "cuModuleGetFunction", CUfunction*, CUmodule, const char*)                                    \
  _(cuFuncGetParamInfo, "cuFuncGetParamInfo", CUfunction, size_t, size_t*, size_t*)                                    \
  _(cuLaunchKernel, "cuLaunchKernel", CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,          \
    unsigned, CUstream, void**, void**)

/// The functions, by their names; all there if `missing` is empty.
struct Library {
#define OPENREG_DECLARE(name, symbol, ...) CUresult (*name)(__VA_ARGS__);
  OPENREG_CUDA_FUNCTIONS(OPENREG_DECLARE)
#undef OPENREG_DECLARE
  std::string missing; ///< What could not be opened or found, and why.
};

/// Opened at the first call. OPENREG_CUDA_LIBRARY names another file, for tests without a GPU.
const Library& library();

/// CUDA's name and sentence for a result.
std::string inWords(CUresult result);

/// The contract's code for a result.
orError_t codeOf(CUresult result);

/// Whether the context is of no use after it.
bool isSticky(CUresult result);

/// Refuses the call, by the name of the function of CUDA's that failed.
void refuseUnless(CUresult result, const char* function);

/// Calls a function of the library; what it fails with is what the call is refused for.
#define OPENREG_CUDA(function, ...) ::openreg::cuda::refuseUnless(library().function(__VA_ARGS__), #function)

} // namespace openreg::cuda
