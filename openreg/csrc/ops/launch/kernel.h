// Device code by name: finding a kernel of the driver, and queueing it.
#pragma once

#include "device/device.h"
#include "device/error.h"
#include "ops/launch/missing_kernel.h"
#include "ops/launch/name.h"
#include "stream/handle.h"

#include <openreg.h>

#include <array>
#include <atomic>
#include <span>
#include <string>

namespace openreg {

// LITERALINCLUDE START: KERNEL
/**
 * @brief A kernel of the driver's module "openreg", looked up once for each device.
 *
 * Kernels go by name and their arguments as plain bytes, so that a launch means the same to every driver: one in this
 * process, one in another, a real device. Any thread.
 */
class C10_EXPORT Kernel {
 public:
  /** @param name Name in the module; must live as long as the object. */
  constexpr explicit Kernel(const char* name) : name_(name) {}

  /** @brief The kernel's handle on a device, or null if the driver has no kernel of that name. */
  orKernel_t find(c10::DeviceIndex device) const;

  /** @brief The kernel's handle on a device. @throws MissingKernel if the driver has none of that name. */
  orKernel_t get(c10::DeviceIndex device) const;

  /**
   * @brief Why find() has found nothing, for the texts of errors: ": not implemented: orModuleLoad" if the driver has
   * no kernels at all, as one that is being written; "" if it has, and just not this one.
   */
  std::string missingEntry(c10::DeviceIndex device) const;

  const char* name() const { return name_; }

 private:
  const char* name_;
  mutable std::array<std::atomic<orKernel_t>, kMaxDevices> handles_{}; // null: not asked yet
};

/** @brief The kernel of a name: `kernel<"copy">`. There is one object, whoever names it. */
template <Name name>
inline constinit const Kernel kernel{name.value};

/**
 * @brief Queues a kernel on the calling thread's current stream of `device`. Does not block.
 * @param kernel Which.
 * @param device Where. The current device plays no part.
 * @param args Its argument struct; copied before the call returns.
 * @param pointers Which bytes of `args` are device pointers, and how far each is used.
 * @param size Bytes of `args` that the kernel reads, where a struct ends in an array of varying length.
 * @throws MissingKernel if the driver has no such kernel.
 * @throws c10::AcceleratorError if the device has failed.
 */
template <class Args>
void launch(
    const Kernel& kernel,
    c10::DeviceIndex device,
    const Args& args,
    std::span<const orPointerArg> pointers,
    size_t size = sizeof(Args)) {
  check(orLaunchKernel(kernel.get(device), &args, size, pointers.data(), pointers.size(), currentStreamHandle(device)));
}
// LITERALINCLUDE END: KERNEL

} // namespace openreg
