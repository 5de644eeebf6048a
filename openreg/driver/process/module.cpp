// Modules and kernels: the executor has them, and the host their names.
#include <cstring>
#include <filesystem>
#include <system_error>

#include "host.h"
#include "openreg_driver.h"

namespace openreg::process {

namespace {

constexpr size_t kMaxName = 4096; ///< With its final zero; it must fit into a frame.

Piece pieceOfText(const char* text) {
  return std::as_bytes(std::span(text, std::strlen(text) + 1));
}

orError_t checkLength(const char* name, size_t most) {
  if (std::strlen(name) >= most) {
    return orDriverError(
        orErrorNotFound, "argument 'name' is '%.80s…'; expected at most %zu characters", name, most - 1);
  }
  return orSuccess;
}

} // namespace

orError_t Host::loadModule(orModule_t* module, const char* name, Device& device) {
  if (const orError_t error = checkLength(name, kMaxName)) {
    return error;
  }
  // An executor has a folder of its own, which is the program's of the time at which it was started.
  std::error_code failed;
  const bool isPath = std::strchr(name, '/') != nullptr;
  const std::string path = isPath ? std::filesystem::absolute(name, failed).string() : name;
  if (failed || path.size() >= kMaxName) {
    return orDriverError(
        orErrorNotFound, "argument 'name' is '%s', which cannot be found from the current folder: %s", name,
        failed ? failed.message().c_str() : "the path is too long");
  }
  const uint64_t life = device.life();
  HandleFrame answer;
  if (const orError_t error =
          device.request(Kind::ModuleLoad, {pieceOfText(path.c_str()), pieceOfText(name)}, &answer, sizeof(answer))) {
    return error;
  }
  if (answer.handle == 0) {
    return device.distrust(life, "has given a module no handle");
  }
  const std::lock_guard lock(modulesMutex);
  if (device.life() != life) {
    return device.wasReset(); // The handle is of an executor that has ended.
  }
  // The executor knows which names are the same module, and then gives the same handle.
  return give(
      module, findOrMake(
                  modules, device, [&](const Module& other) { return other.remote == answer.handle; },
                  [&](Module& made) { made.remote = answer.handle; }));
}

// LITERALINCLUDE START: PROCESS GET KERNEL
orError_t Host::getKernel(orKernel_t* kernel, orModule_t module, const char* name) {
  if (const orError_t error = checkLength(name, kMaxName)) {
    return error;
  }
  HandleFrame remote;
  Device* from = nullptr;
  uint64_t life = 0;
  {
    const std::lock_guard lock(modulesMutex);
    const Module* it = modules.find(number(module));
    if (it == nullptr) {
      return invalidHandle("module", "a module", number(module));
    }
    remote.handle = it->remote;
    from = it->device.load();
    life = from->life();
  }
  Device& device = *from;
  KernelAnswer answer;
  if (const orError_t error = device.request( // Not under the lock: a reset that we may wait for here needs it.
          Kind::ModuleKernel, {pieceOf(remote), pieceOfText(name)}, &answer, sizeof(answer))) {
    return error;
  }
  if (answer.handle == 0) {
    return device.distrust(life, "has given a kernel no handle");
  }
  const std::lock_guard lock(modulesMutex);
  if (device.life() != life) {
    return device.wasReset();
  }
  return give(
      kernel, findOrMake(
                  kernels, device, [&](const Kernel& other) { return other.remote == answer.handle; },
                  [&](Kernel& made) {
                    made.remote = answer.handle;
                    made.fewest = answer.minArgsSize;
                    made.text = kernelNames_.emplace(name).first->c_str();
                  }));
}
// LITERALINCLUDE END: PROCESS GET KERNEL

} // namespace openreg::process
