// A driver that serves hardly anything: what the tests want to see of the way from an entry to a driver's table.
// COUNT, VERSION, SIZE, NAME and TOO_NEW make the variants.
#include <stddef.h>
#include <stdint.h>

#include "openreg_driver.h"

#ifndef VERSION
#define VERSION OPENREG_DRIVER_VERSION
#endif
#ifndef SIZE
#define SIZE sizeof(OrDriver)
#endif
#ifndef NAME
#define NAME "tiny"
#endif

#ifdef COUNT
static orError_t getDeviceCount(int* count) {
  *count = COUNT;
  return orSuccess;
}

// The address tells which device and size it was asked for.
static orError_t allocate(void** ptr, size_t size, int device) {
  *ptr = (void*)(uintptr_t)(0x1000 * (size_t)(device + 1) + size);
  return orSuccess;
}

static orError_t release(void* ptr) {
  return orDriverError(orErrorInvalidValue, "ptr is %p, expected %s number %d", ptr, "an address", 7);
}

// The handle tells what it was asked for.
static orError_t streamCreate(orStream_t* stream, unsigned int flags, int priority, int device) {
  *stream = (orStream_t)(uintptr_t)(0x100000 + 0x1000 * flags + 0x100 * (unsigned)device + (unsigned)(priority + 16));
  return orSuccess;
}

static orError_t fill(void* ptr, int value, size_t size, orStream_t stream) {
  if (ptr != NULL && value == 0 && size != 0 && stream != NULL) {
    return orSuccess;
  }
  return orDriverError(
      orErrorInvalidValue, "ptr is %p, stream is %p, %p, of %zu", ptr, (void*)stream, (void*)stream, size);
}

static orError_t priorityRange(int* least, int* greatest, int device) {
  *least = 3 + device;
  *greatest = -5;
  return orSuccess;
}
#endif

// What a later version of the contract may have behind today's table.
static struct {
  OrDriver driver;
  void* later[64];
} table = {
    .driver =
        {
            .size = SIZE,
            .version = VERSION,
            .name = NAME,
#ifdef COUNT
            .GetDeviceCount = getDeviceCount,
            .Malloc = allocate,
            .Free = release,
            .StreamCreateWithPriority = streamCreate,
            .DeviceGetStreamPriorityRange = priorityRange,
            .MemsetAsync = fill,
#endif
        },
};

const OrDriver* orGetDriver(uint32_t version) {
#ifdef TOO_NEW
  return version >= TOO_NEW ? &table.driver : NULL;
#else
  return version == OPENREG_DRIVER_VERSION ? &table.driver : NULL;
#endif
}
