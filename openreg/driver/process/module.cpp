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

void checkLength(const char* name) {
  if (std::strlen(name) >= kMaxName) {
    throw Refused{orDriverError(
        orErrorNotFound, "argument 'name' is '%.80s…'; expected at most %zu characters", name, kMaxName - 1)};
  }
}

} // namespace

uint64_t Host::loadModule(const char* name, Device& device) {
  checkLength(name);
  // An executor has a folder of its own, which is the program's of the time at which it was started.
  std::error_code failed;
  const bool isPath = std::strchr(name, '/') != nullptr;
  const std::string path = isPath ? std::filesystem::absolute(name, failed).string() : name;
  if (failed || path.size() >= kMaxName) {
    throw Refused{orDriverError(
        orErrorNotFound, "argument 'name' is '%s', which cannot be found from the current folder: %s", name,
        failed ? failed.message().c_str() : "the path is too long")};
  }
  const uint64_t life = device.life();
  const auto answer = device.request<HandleFrame>(Kind::ModuleLoad, {pieceOfText(path.c_str()), pieceOfText(name)});
  if (answer.handle == 0) {
    throw Refused{device.distrust(life, "has given a module no handle")};
  }
  const std::lock_guard lock(modulesMutex);
  if (device.life() != life) {
    throw Refused{device.whyLost()}; // The handle is of an executor that has ended.
  }
  // The executor knows which names are the same module, and then gives the same handle.
  return findOrMake(
      modules, device, [&](const Module& other) { return other.remote == answer.handle; },
      [&](Module& made) { made.remote = answer.handle; });
}

// LITERALINCLUDE START: PROCESS GET KERNEL
uint64_t Host::getKernel(orModule_t module, const char* name) {
  checkLength(name);
  HandleFrame remote;
  Device* from = nullptr;
  uint64_t life = 0;
  {
    const std::lock_guard lock(modulesMutex);
    const Module& it = named(modules, module);
    remote.handle = it.remote;
    from = it.device.load();
    life = from->life();
  }
  Device& device = *from;
  // Not under the lock: a reset that we may wait for here needs it.
  const auto answer = device.request<KernelAnswer>(Kind::ModuleKernel, {pieceOf(remote), pieceOfText(name)});
  if (answer.handle == 0) {
    throw Refused{device.distrust(life, "has given a kernel no handle")};
  }
  const std::lock_guard lock(modulesMutex);
  if (device.life() != life) {
    throw Refused{device.whyLost()};
  }
  return findOrMake(
      kernels, device, [&](const Kernel& other) { return other.remote == answer.handle; },
      [&](Kernel& made) {
        made.remote = answer.handle;
        made.fewest = answer.minArgsSize;
        made.text = kernelNames_.emplace(name).first->c_str();
      });
}
// LITERALINCLUDE END: PROCESS GET KERNEL

} // namespace openreg::process
