// Kernels that were compiled at run time: each is a module of its own, launched with tensors and numbers.
#pragma once

#include "device/device.h"

#include <openreg.h>

#include <ATen/core/Tensor.h>
#include <c10/macros/Export.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace openreg {

class CompiledKernel;

// LITERALINCLUDE START: COMPILED ARGUMENTS
/**
 * @brief The arguments of one launch of a CompiledKernel, in the kernel's order. For one thread.
 *
 * Each takes eight bytes, whatever its type, so that they can be written without knowing the kernel's function.
 */
class C10_EXPORT CompiledArguments {
 public:
  /// Most arguments of a kernel.
  static constexpr size_t kMost = OPENREG_MAX_ARGUMENT_BYTES / 8;

  /** @param kernel Whose; it must outlive this object. */
  explicit CompiledArguments(const CompiledKernel& kernel) : kernel_(kernel) {}

  /** @brief The type of the next one, as in CompiledKernel::kinds(). @throws c10::Error if there is none. */
  char kind() const;

  /** @brief Adds an integer, for a parameter of type int64_t. @throws c10::Error if it is one argument too many. */
  void addInteger(int64_t value);

  /** @brief Adds a number, for a parameter of type float. @throws c10::Error if it is one argument too many. */
  void addFloat(float value);

  /**
   * @brief Adds the address of a tensor's first element.
   *
   * The kernel may reach all of the tensor's storage: how it counts from there is its own affair.
   * @throws c10::Error if the tensor is not on the device of those before it, or is one argument or tensor too many.
   */
  void addTensor(const at::Tensor& tensor);

 private:
  friend CompiledKernel;
  union Slot {
    const void* pointer;
    int64_t integer;
    float real;
  };
  static_assert(sizeof(Slot) == 8);

  Slot& next();

  const CompiledKernel& kernel_;
  size_t count_ = 0;
  size_t pointerCount_ = 0;
  c10::DeviceIndex device_ = -1;
  std::array<Slot, kMost> slots_;                               // the first count_ are set
  std::array<orPointerArg, OPENREG_MAX_POINTER_ARGS> pointers_; // the first pointerCount_ are set
};
// LITERALINCLUDE END: COMPILED ARGUMENTS

// LITERALINCLUDE START: COMPILED KERNEL
/**
 * @brief A kernel in a shared library that the device loads, and this process does not. Any thread.
 *
 * It is loaded on a device when it is first launched there, and again after a reset of that device. The driver keeps
 * what it has loaded: the file can be removed after the first launch.
 */
class C10_EXPORT CompiledKernel {
 public:
  /**
   * @param path The library, which exports orGetKernels().
   * @param name The kernel in it.
   * @param kinds A letter for each parameter of its function: 'r' and 'w' are pointers to what it reads and to what it
   *     may write, 'i' is an int64_t, 'f' a float.
   * @throws c10::Error if there are too many parameters, or letters of another kind.
   */
  CompiledKernel(std::string path, std::string name, std::string kinds);

  /**
   * @brief Queues it on the calling thread's current stream of the tensors' device. Blocks while it
   * is loaded for the first time, and for room in a full queue.
   * @param arguments As many as it has parameters, and one tensor among them.
   * @throws c10::Error if there are fewer.
   * @throws c10::AcceleratorError if the module cannot be loaded or has no such kernel, or if the device has failed.
   * @throws c10::NotImplementedError if the driver loads no modules.
   */
  void launch(const CompiledArguments& arguments) const;

  const std::string& name() const noexcept { return name_; }
  const std::string& path() const noexcept { return path_; }
  const std::string& kinds() const noexcept { return kinds_; }

 private:
  /// Its handle on a device, and in which life of the device that is one.
  struct Found {
    std::atomic<orKernel_t> handle{nullptr};
    std::atomic<uint64_t> life{0};
  };

  orKernel_t on(c10::DeviceIndex device) const;

  std::string path_;
  std::string name_;
  std::string kinds_;
  mutable std::mutex loading_;
  mutable std::array<Found, kMaxDevices> found_;
};
// LITERALINCLUDE END: COMPILED KERNEL

} // namespace openreg
