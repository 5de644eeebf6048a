// Modules, kernels and launches.
#include "activity.h"
#include "kernels/launch/registry.h"
#include "launch_checks.h"
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

orError_t orLaunchKernel(
    orKernel_t kernel,
    const void* args,
    size_t argsSize,
    const orPointerArg* pointers,
    size_t pointerCount,
    orStream_t stream) {
  RecordedEntry entry("orLaunchKernel");
  openreg::api::checkArguments(entry, args, argsSize, pointers, pointerCount);
  return entry.queue(stream, &OrDriver::LaunchKernel, kernel, args, argsSize, pointers, pointerCount, stream);
}

const orKernelEntry* orDriverKernels(size_t* count) {
  const auto kernels = openreg::kernels::registered();
  *count = kernels.size();
  return kernels.data();
}
