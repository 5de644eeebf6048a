// A driver that has some entries of another: the empty table, and what ENTRIES fills in. OTHER is the other one's path.
#include <dlfcn.h>
#include <stddef.h>

#include "openreg_driver.h"

#ifndef VERSION
#define VERSION OPENREG_DRIVER_VERSION
#endif
#ifndef SIZE
#define SIZE sizeof(OrDriver)
#endif
#define FILL(entry) table.entry = other->entry;

#ifdef WRONG
static orError_t noProperties(orDeviceProp* properties, int device) {
  (void)properties, (void)device;
  return orSuccess;
}
#endif

#ifdef ONE_DEVICE
static orError_t oneDevice(int* count) {
  *count = 1;
  return orSuccess;
}
#endif

const OrDriver* orGetDriver(uint32_t version) {
  static OrDriver table = {.size = SIZE, .version = VERSION, .name = "some"};
  void* library = dlopen(OTHER, RTLD_NOW | RTLD_LOCAL);
  const OrDriver* (*get)(uint32_t) = NULL;
  if (library != NULL) {
    *(void**)&get = dlsym(library, "orGetDriver");
  }
  const OrDriver* other = get != NULL ? get(OPENREG_DRIVER_VERSION) : NULL;
  (void)version;
  if (other == NULL) {
    return NULL;
  }
  ENTRIES
#ifdef ONE_DEVICE
  table.GetDeviceCount = oneDevice;
#endif
#ifdef WRONG
  table.GetDeviceProperties = noProperties;
#endif
  return &table;
}
