// What happens to a call whose kernel the driver lacks.
#pragma once

#include <c10/util/Exception.h>

#include <string>

namespace openreg {

// LITERALINCLUDE START: MISSING KERNEL
/**
 * @brief The driver has no kernel of that name, or no kernels at all.
 *
 * Thrown where kernels are looked up. The device has not failed: what was queued before runs. Python gets a
 * NotImplementedError.
 */
class MissingKernel final : public c10::NotImplementedError {
 public:
  /** @param message Names the kernel. There is no backtrace: it would take longer than the call. */
  explicit MissingKernel(std::string message) : c10::NotImplementedError(std::move(message), nullptr) {}
};
// LITERALINCLUDE END: MISSING KERNEL

} // namespace openreg
