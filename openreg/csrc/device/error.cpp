// Errors of the contract as PyTorch's exceptions.
#include "device/error.h"

#include "device/device_name.h"
#include "device/level.h"
// LITERALINCLUDE START: CAPTURE ERRORS
#include "graph/advice.h"
// LITERALINCLUDE END: CAPTURE ERRORS

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

namespace openreg {

// LITERALINCLUDE START: THROW ERROR
void throwError(orError_t error) {
  // The message belongs to this thread until its next failing call, so it is read before anything else is called.
  std::string message = c10::str(kDeviceName, ": ", orGetLastErrorMessage());
  // Handled here, so it must not stay behind for somebody who asks later.
  (void)orGetLastError();
  if (const auto level = error == orErrorNotImplemented ? levelOf(message) : ""; !level.empty()) {
    message += " (" + level + ")"; // what the driver would have to have
  }
  // LITERALINCLUDE START: CAPTURE ERRORS
  message += captureAdvice(error);
  // LITERALINCLUDE END: CAPTURE ERRORS
  message += c10::str(" [", orGetErrorName(error), "]");
  const c10::SourceLocation where = {__func__, __FILE__, static_cast<uint32_t>(__LINE__)};
  switch (error) {
    case orErrorMemoryAllocation:
      throw c10::OutOfMemoryError(where, std::move(message));
    case orErrorNotImplemented:
      throw c10::NotImplementedError(where, std::move(message));
    default:
      throw c10::AcceleratorError(where, error, std::move(message));
  }
}
// LITERALINCLUDE END: THROW ERROR

} // namespace openreg
