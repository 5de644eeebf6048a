// The kernels of one operator: one for each type that it computes in.
#pragma once

#include "ops/launch/kernel.h"

#include <kernels/launch/dtype.h>

#include <c10/core/ScalarType.h>

namespace openreg {

// LITERALINCLUDE START: KERNEL FAMILY
/**
 * @brief The kernels "name.float", "name.int64" and so on of the driver's module.
 *
 * Which of them exist only the driver knows: a type that an operator does not have is a kernel that is not found.
 * Any thread.
 */
class C10_EXPORT KernelFamily {
 public:
  /** @param name Name of the operator, as it stands in front of the dot; must live as long as the object. */
  constexpr explicit KernelFamily(const char* name) : name_(name) {}

  /** @brief The kernel that computes elements of a type, or null if the operator does not have the type. */
  const Kernel* find(c10::ScalarType type, c10::DeviceIndex device) const;

  /**
   * @brief The kernel that computes elements of a type.
   * @throws MissingKernel "NAME" not implemented for 'TYPE'.
   */
  const Kernel& get(c10::ScalarType type, c10::DeviceIndex device) const;

  const char* name() const { return name_; }

 private:
  const Kernel* of(c10::ScalarType type) const; // null if device code has no such type

  const char* name_;
  mutable std::array<std::atomic<const Kernel*>, kernels::kComputeTypes> kernels_{}; // null: not asked yet
};

/** @brief The kernels of an operator: `kernelFamily<"add">`. There is one object, whoever names it. */
template <Name name>
inline constinit const KernelFamily kernelFamily{name.value};
// LITERALINCLUDE END: KERNEL FAMILY

} // namespace openreg
