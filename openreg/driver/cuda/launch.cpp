// Launches: pointers are checked by the host, so that a wrong one is an error with a name and no fault of the GPU.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "driver.h"

namespace openreg::cuda {

namespace {

/// Whether a kernel of a device may use [first, first + extent).
bool mayUse(const Device& device, const char* first, size_t extent) {
  const Device* owner = Cuda::instance().deviceOf(first);
  if (owner == nullptr || (owner != &device && !device.canAccess(*owner))) {
    return false;
  }
  const auto block = owner->memory.find(first);
  return block && block->holds(first, extent);
}

std::string describe(const orPointerArg& argument, uintptr_t pointer, const Device& device) {
  char text[320];
  std::snprintf(
      text, sizeof(text),
      "the pointer at argument byte %u is 0x%llx and is used from byte %lld on for %llu bytes; expected these to lie "
      "in "
      "one live allocation of device %d or of a peer it has access to",
      static_cast<unsigned>(argument.offset), static_cast<unsigned long long>(pointer),
      static_cast<long long>(argument.lower), static_cast<unsigned long long>(argument.extent), device.index);
  const Device* owner = Cuda::instance().deviceOf(reinterpret_cast<const void*>(pointer));
  if (owner != nullptr && owner != &device && !device.canAccess(*owner)) {
    return text + (" (it is memory of device " + std::to_string(owner->index) + ", to which there is no peer access)");
  }
  if (owner != nullptr) {
    return text;
  }
  return std::string(text) + (Cuda::instance().pinned().find(reinterpret_cast<const void*>(pointer))
                                  ? " (it is pinned host memory, which only copies may use)"
                                  : " (it is host memory)");
}

} // namespace

void launch(
    Device& device,
    CUstream stream,
    const Kernel& kernel,
    const void* args,
    size_t argsSize,
    std::span<const orPointerArg> pointers) {
  uint64_t largest = 0;
  for (const orPointerArg& argument : pointers) {
    uintptr_t pointer = 0;
    std::memcpy(&pointer, static_cast<const char*>(args) + argument.offset, sizeof(pointer));
    // Memory is freed only once the device is idle: what holds now holds when the kernel has its turn.
    const uintptr_t first = pointer + static_cast<uintptr_t>(argument.lower);
    if (argument.extent != 0 && !mayUse(device, reinterpret_cast<const char*>(first), argument.extent)) {
      device.failBehind(
          stream, orErrorIllegalAddress,
          std::string("kernel '") + kernel.name() + "' on device " + std::to_string(device.index) + ": " +
              describe(argument, pointer, device));
      return;
    }
    largest = std::max<uint64_t>(largest, argument.extent);
  }
  alignas(16) unsigned char bytes[OPENREG_MAX_ARGUMENT_BYTES]; // CUDA reads all of a parameter's bytes.
  if (argsSize != 0) {
    std::memcpy(bytes, args, argsSize);
  }
  if (kernel.vendor != nullptr) {
    return kernel.vendor(device, stream, bytes);
  }
  // As many threads as there can be work for, by the largest operand: kernels loop over the rest.
  constexpr unsigned kThreads = 256;
  const auto most = static_cast<uint64_t>(device.multiprocessors()) * 8;
  const auto blocks = static_cast<unsigned>(std::clamp<uint64_t>((largest / 4 + kThreads - 1) / kThreads, 1, most));
  Services services = device.services(stream, kernel.name());
  void* parameters[] = {bytes, &services};
  for (services.phase = 0; services.phase < kernel.phases; ++services.phase) {
    OPENREG_CUDA(cuLaunchKernel, kernel.function, blocks, 1, 1, kThreads, 1, 1, 0, stream, parameters, nullptr);
  }
}

} // namespace openreg::cuda
