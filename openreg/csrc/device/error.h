// Errors of the contract as PyTorch's exceptions: the one place where a code becomes a type.
#pragma once

#include <openreg.h>

#include <c10/macros/Export.h>
#include <c10/macros/Macros.h>

namespace openreg {

/**
 * @brief Throws the exception of `error`, with the driver's message.
 * @throws c10::OutOfMemoryError for orErrorMemoryAllocation (Python: torch.OutOfMemoryError).
 * @throws c10::NotImplementedError for orErrorNotImplemented (Python: NotImplementedError).
 * @throws c10::AcceleratorError for all others (Python: torch.AcceleratorError, a RuntimeError with `error_code`).
 */
[[noreturn]] C10_EXPORT void throwError(orError_t error);

/**
 * @brief Every call of the contract goes through here, but for those in `noexcept` functions.
 * @param error What the call returned.
 * @throws c10::Error of the type that throwError() chooses, unless it is orSuccess.
 */
inline void check(orError_t error) {
  if (C10_UNLIKELY(error != orSuccess)) {
    throwError(error);
  }
}

} // namespace openreg
