/* A libcuda of no GPU, for tests: it counts the calls of each function, does copies, fills and kernels in the host's
 * memory at once, and fails where a test says so. Every function that the driver looks up is here. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))

static struct {
  const char* name;
  int calls;
  int result;
} functions[64];
static int count;

/* The line of a function; one that has never been called gets one. */
static int line(const char* name) {
  for (int i = 0; i < count; ++i) {
    if (strcmp(functions[i].name, name) == 0) {
      return i;
    }
  }
  functions[count].name = strdup(name);
  return count++;
}

/* For tests: how often a function has been called, and what it returns from now on. */
EXPORT int stubCalls(const char* name) {
  return functions[line(name)].calls;
}
EXPORT void stubFail(const char* name, int result) {
  functions[line(name)].result = result;
}

static int called(const char* name) {
  const int at = line(name);
  ++functions[at].calls;
  return functions[at].result;
}

#define FUNCTION(name, parameters, ...)                                                                                \
  EXPORT int name parameters {                                                                                         \
    const int result = called(#name);                                                                                  \
    if (result == 0) {                                                                                                 \
      __VA_ARGS__;                                                                                                     \
    }                                                                                                                  \
    return result;                                                                                                     \
  }

typedef uint64_t Address;
static char object; /* what all handles are */

FUNCTION(cuInit, (unsigned flags), (void)flags)
FUNCTION(cuDriverGetVersion, (int* version), *version = 13000)
EXPORT int cuGetErrorName(int error, const char** name) {
  *name = error == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == 200 ? "CUDA_ERROR_INVALID_IMAGE"
          : error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                         : "CUDA_ERROR_OTHER";
  return 0;
}
EXPORT int cuGetErrorString(int error, const char** text) {
  (void)error;
  *text = "the stub was told to";
  return 0;
}
FUNCTION(cuDeviceGet, (int* device, int index), *device = index)
FUNCTION(cuDeviceGetCount, (int* devices), *devices = 1)
FUNCTION(cuDeviceGetName, (char* name, int size, int device), (void)device; strncpy(name, "Stub", (size_t)size))
FUNCTION(cuDeviceTotalMem_v2, (size_t* bytes, int device), (void)device; *bytes = (size_t)64 << 20)
/* Compute capability 9.0, and nine of everything else. */
FUNCTION(cuDeviceGetAttribute, (int* value, int what, int device), (void)device; *value = what == 76 ? 0 : 9)
FUNCTION(cuDeviceCanAccessPeer, (int* can, int device, int peer), (void)device; (void)peer; *can = 1)
FUNCTION(cuCtxCreate_v2, (void** context, unsigned flags, int device), (void)flags; (void)device; *context = &object)
FUNCTION(cuCtxDestroy_v2, (void* context), (void)context)
FUNCTION(cuCtxSetCurrent, (void* context), (void)context)
FUNCTION(cuCtxSynchronize, (void), (void)0)
FUNCTION(cuCtxGetStreamPriorityRange, (int* least, int* greatest), *least = 0; *greatest = -5)
FUNCTION(
    cuMemAddressReserve,
    (Address * address, size_t bytes, size_t alignment, Address at, unsigned long long flags),
    (void)alignment;
    (void)at;
    (void)flags;
    *address = (Address)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
FUNCTION(
    cuMemCreate, (Address * handle, size_t bytes, const void* wanted, unsigned long long flags), (void)bytes;
    (void)wanted;
    (void)flags;
    *handle = 1)
FUNCTION(cuMemRelease, (Address handle), (void)handle)
FUNCTION(
    cuMemMap, (Address address, size_t bytes, size_t offset, Address handle, unsigned long long flags), (void)address;
    (void)bytes;
    (void)offset;
    (void)handle;
    (void)flags)
FUNCTION(cuMemUnmap, (Address address, size_t bytes), (void)address; (void)bytes)
FUNCTION(
    cuMemSetAccess, (Address address, size_t bytes, const void* who, size_t number), (void)address; (void)bytes;
    (void)who;
    (void)number)
FUNCTION(cuMemAlloc_v2, (Address * address, size_t bytes), *address = (Address)calloc(1, bytes))
FUNCTION(cuMemHostAlloc, (void** pointer, size_t bytes, unsigned flags), (void)flags; *pointer = calloc(1, bytes))
FUNCTION(cuMemFreeHost, (void* pointer), free(pointer))
FUNCTION(
    cuMemHostGetDevicePointer_v2, (Address * there, void* pointer, unsigned flags), (void)flags;
    *there = (Address)pointer)
#define COPY(name, To, From)                                                                                           \
  FUNCTION(                                                                                                            \
      name, (To dst, From src, size_t size, void* stream), (void)stream; memmove((void*)dst, (const void*)src, size))
COPY(cuMemcpyAsync, Address, Address)
COPY(cuMemcpyHtoDAsync_v2, Address, const void*)
COPY(cuMemcpyDtoHAsync_v2, void*, Address)
COPY(cuMemcpyDtoDAsync_v2, Address, Address)
FUNCTION(
    cuMemcpyPeerAsync, (Address dst, void* to, Address src, void* from, size_t size, void* stream), (void)to;
    (void)from;
    (void)stream;
    memmove((void*)dst, (const void*)src, size))
FUNCTION(
    cuMemsetD8Async, (Address dst, unsigned char value, size_t size, void* stream), (void)stream;
    memset((void*)dst, value, size))
FUNCTION(
    cuStreamCreateWithPriority, (void** stream, unsigned flags, int priority), (void)flags; (void)priority;
    *stream = malloc(1))
FUNCTION(cuStreamDestroy_v2, (void* stream), free(stream))
FUNCTION(cuStreamQuery, (void* stream), (void)stream)
FUNCTION(cuStreamSynchronize, (void* stream), (void)stream)
FUNCTION(cuStreamWaitEvent, (void* stream, void* event, unsigned flags), (void)stream; (void)event; (void)flags)
FUNCTION(
    cuStreamWaitValue32_v2, (void* stream, Address word, uint32_t value, unsigned flags), (void)stream; (void)flags;
    while ((int32_t)(__atomic_load_n((uint32_t*)word, __ATOMIC_ACQUIRE) - value) < 0){})
FUNCTION(cuLaunchHostFunc, (void* stream, void (*function)(void*), void* data), (void)stream; function(data))
FUNCTION(cuEventCreate, (void** event, unsigned flags), (void)flags; *event = &object)
FUNCTION(cuEventRecord, (void* event, void* stream), (void)event; (void)stream)
FUNCTION(cuEventQuery, (void* event), (void)event)
FUNCTION(cuEventSynchronize, (void* event), (void)event)
FUNCTION(cuEventElapsedTime, (float* milliseconds, void* start, void* end), (void)start; (void)end; *milliseconds = 1)
/* Code is the path of a shared library, which host_nvrtc.cpp has made; a module and its function are its handle. What
 * is for a GPU can't be run, and all that can be said of it is that it is. */
EXPORT int cuModuleLoadData(void** module, const void* image) {
  const int result = called("cuModuleLoadData");
  *module = memcmp(image, "\177ELF", 4) == 0 ? &object : dlopen(image, RTLD_NOW | RTLD_LOCAL);
  return result != 0 ? result : *module == NULL ? 200 : 0; /* CUDA_ERROR_INVALID_IMAGE */
}
FUNCTION(cuModuleGetFunction, (void** function, void* module, const char* name), (void)name; *function = module)
FUNCTION(
    cuFuncGetParamInfo, (void* function, size_t index, size_t* offset, size_t* size), (void)index; *offset = 0;
    *size = function == &object ? 16 : ((unsigned long (*)(void))dlsym(function, "openreg_size"))())
FUNCTION(
    cuLaunchKernel,
    (void* function,
     unsigned x,
     unsigned y,
     unsigned z,
     unsigned threads,
     unsigned v,
     unsigned w,
     unsigned shared,
     void* stream,
     void** parameters,
     void** more),
    (void)y;
    (void)z;
    (void)v;
    (void)w;
    (void)shared;
    (void)stream;
    (void)more;
    ((void (*)(void**, unsigned, unsigned))dlsym(function, "openreg_run"))(parameters, x, threads))
