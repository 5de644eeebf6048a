// Modules, kernels and launches.
#include "activity.h"
#include "kernels/launch/registry.h"
#include "openreg_driver.h"

using openreg::api::Entry;
using openreg::api::RecordedEntry;
using openreg::api::thread;

orError_t orModuleLoad(orModule_t* module, const char* name) {
  RecordedEntry entry("orModuleLoad");
  entry.notNull(module != nullptr, "module", "where to put the handle");
  entry.notNull(name != nullptr, "name", "the name of a module");
  entry.currentDevice();
  return entry.call(&OrDriver::ModuleLoad, module, name, thread.device);
}

orError_t orModuleGetKernel(orKernel_t* kernel, orModule_t module, const char* name) {
  Entry entry("orModuleGetKernel");
  entry.notNull(kernel != nullptr, "kernel", "where to put the handle");
  entry.notNull(name != nullptr, "name", "the name of a kernel");
  return entry.call(&OrDriver::ModuleGetKernel, kernel, module, name);
}

namespace {
/// Checks what can be said of a descriptor without knowing the device's memory.
void checkPointer(Entry& entry, const orPointerArg& pointer, size_t index, size_t argsSize) {
  entry.require(
      pointer.offset % 8 == 0 && pointer.offset + sizeof(void*) <= argsSize, orErrorInvalidValue,
      "argument 'pointers'[%zu] has offset %u; expected a multiple of 8 with a pointer inside the %zu argument bytes",
      index, pointer.offset, argsSize);
  entry.require(
      pointer.access != 0 && (pointer.access & ~unsigned{orAccessRead | orAccessWrite}) == 0, orErrorInvalidValue,
      "argument 'pointers'[%zu] has access 0x%x; expected orAccessRead, orAccessWrite or both", index, pointer.access);
}
} // namespace

orError_t orLaunchKernel(
    orKernel_t kernel,
    const void* args,
    size_t argsSize,
    const orPointerArg* pointers,
    size_t pointerCount,
    orStream_t stream) {
  RecordedEntry entry("orLaunchKernel");
  entry.notNull(args != nullptr || argsSize == 0, "args", "the argument bytes, as 'argsSize' is not 0");
  entry.require(
      argsSize <= OPENREG_MAX_ARGUMENT_BYTES, orErrorInvalidValue, "argument 'argsSize' is %zu; expected at most %d",
      argsSize, OPENREG_MAX_ARGUMENT_BYTES);
  entry.notNull(pointers != nullptr || pointerCount == 0, "pointers", "the descriptors, as 'pointerCount' is not 0");
  entry.require(
      pointerCount <= OPENREG_MAX_POINTER_ARGS, orErrorInvalidValue,
      "argument 'pointerCount' is %zu; expected at most %d", pointerCount, OPENREG_MAX_POINTER_ARGS);
  for (size_t i = 0; entry.ok() && i < pointerCount; ++i) {
    checkPointer(entry, pointers[i], i, argsSize);
  }
  return entry.queue(stream, &OrDriver::LaunchKernel, kernel, args, argsSize, pointers, pointerCount, stream);
}

const orKernelEntry* orDriverKernels(size_t* count) {
  const auto kernels = openreg::kernels::registered();
  *count = kernels.size();
  return kernels.data();
}
