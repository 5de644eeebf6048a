// Calls about modules, kernels and launches.
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "calls.h"
#include "lookup.h"
#include "openreg_driver.h"
#include "sim/stale.h"

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

/// If the arguments point into a peer's memory, the device's executor must know that. Gives those peers, and how many
/// they are.
size_t introducePeers(
    Device& device,
    const void* args,
    const orPointerArg* pointers,
    size_t count,
    std::array<Device*, kMaxDevices>& found) {
  size_t foundCount = 0;
  for (size_t i = 0; i < count; ++i) {
    uintptr_t pointer = 0;
    std::memcpy(&pointer, static_cast<const char*>(args) + pointers[i].offset, sizeof(pointer));
    const auto* first = reinterpret_cast<const char*>(pointer + static_cast<uintptr_t>(pointers[i].lower));
    if (pointers[i].extent == 0 || device.memory.covers(first)) {
      continue;
    }
    if (Device* peer = host().deviceOf(first); peer != nullptr && host().peers.canAccess(device, *peer)) {
      host().peers.introduce(device, *peer);
      if (std::find(found.begin(), found.begin() + foundCount, peer) == found.begin() + foundCount) {
        found[foundCount++] = peer;
      }
    }
  }
  return foundCount;
}

/// The first in use of a table's objects for which `wanted` is true; null if none.
template <class Table, class Wanted>
auto* findIn(Table& table, Wanted wanted) {
  decltype(table.acquire()) found = nullptr;
  table.forEach([&](auto& object) {
    if (found == nullptr && object.handle.load() != 0 && wanted(object)) {
      found = &object;
    }
  });
  return found;
}

} // namespace

orError_t moduleLoad(orModule_t* module, const char* name, int index) {
  Device& device = host().device(index);
  if (const orError_t error = device.use()) {
    return error;
  }
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
  const std::lock_guard lock(host().modulesMutex);
  if (device.life() != life) {
    return device.wasReset(); // The handle is of an executor that has ended.
  }
  // The executor knows which names are the same module, and then gives the same handle.
  Module* it = findIn(host().modules, [&](const Module& other) {
    return other.device.load() == &device && other.remote == answer.handle;
  });
  if (it == nullptr) {
    it = host().modules.acquire();
    if (it == nullptr) {
      return orDriverError(
          orErrorMemoryAllocation,
          "there are %u modules, as many as there can be; expected fewer, or a device to be reset first",
          sim::kMaxModules);
    }
    it->device.store(&device);
    it->remote = answer.handle;
    host().modules.publish(*it);
  }
  *module = handleOf<orModule_t>(it->handle.load());
  return orSuccess;
}

// LITERALINCLUDE START: PROCESS GET KERNEL
orError_t moduleGetKernel(orKernel_t* kernel, orModule_t module, const char* name) {
  if (const orError_t error = checkLength(name, kMaxName)) {
    return error;
  }
  HandleFrame remote;
  Device* from = nullptr;
  uint64_t life = 0;
  {
    const std::lock_guard lock(host().modulesMutex);
    Module* it = host().modules.find(number(module));
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
  const std::lock_guard lock(host().modulesMutex);
  if (device.life() != life) {
    return device.wasReset();
  }
  Kernel* it = findIn(host().kernels, [&](const Kernel& other) {
    return other.device.load() == &device && other.remote == answer.handle;
  });
  if (it == nullptr) {
    it = host().kernels.acquire();
    if (it == nullptr) {
      return orDriverError(orErrorMemoryAllocation, "there are too many kernels");
    }
    it->device.store(&device);
    it->remote = answer.handle;
    it->minArgsSize = answer.minArgsSize;
    it->name = host().kernelNames.emplace(name).first->c_str();
    host().kernels.publish(*it);
  }
  *kernel = handleOf<orKernel_t>(it->handle.load());
  return orSuccess;
}
// LITERALINCLUDE END: PROCESS GET KERNEL

// LITERALINCLUDE START: PROCESS LAUNCH
orError_t launchKernel(
    orKernel_t kernel,
    const void* args,
    size_t argsSize,
    const orPointerArg* pointers,
    size_t pointerCount,
    orStream_t stream) {
  const Kernel* it = host().kernels.find(number(kernel));
  if (it == nullptr) {
    return invalidHandle("kernel", "a kernel", number(kernel));
  }
  Stream* on = find(stream);
  if (on == nullptr) {
    return invalid(stream);
  }
  Device& device = deviceOf(*on);
  if (it->device.load(std::memory_order_relaxed) != &device) {
    return orDriverError(
        orErrorInvalidHandle,
        "argument 'kernel' is of a module loaded on device %d; expected one loaded on device %d, the stream's",
        it->device.load()->index, device.index);
  }
  if (const orError_t error = device.use()) {
    return error;
  }
  if (argsSize < it->minArgsSize) {
    return orDriverError(
        orErrorInvalidValue, "argument 'argsSize' is %zu; kernel '%s' expects at least %zu", argsSize, it->name.load(),
        it->minArgsSize.load());
  }
  if (const orError_t error = sim::refuseStale(host().devices, args, pointers, pointerCount)) {
    return error;
  }
  std::array<Device*, kMaxDevices> peers{};
  const size_t peerCount = introducePeers(device, args, pointers, pointerCount, peers);
  const LaunchFrame frame{
      .argsSize = static_cast<uint16_t>(argsSize),
      .pointerCount = static_cast<uint16_t>(pointerCount),
      .kernel = it->remote};
  // The descriptors go first: the argument bytes may end anywhere.
  Point end;
  const orError_t error = device.submit(
      *on, number(stream), Kind::Launch, frame, std::as_bytes(std::span(pointers, pointerCount)),
      std::as_bytes(std::span(static_cast<const char*>(args), argsSize)), &end);
  for (size_t i = 0; i < peerCount && error == orSuccess; ++i) {
    peers[i]->noteVisit(end);
  }
  return error;
}
// LITERALINCLUDE END: PROCESS LAUNCH

} // namespace openreg::process
