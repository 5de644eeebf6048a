// How a call ends that cannot be: by an exception, wherever it is found out.
#pragma once

#include <exception>

#include "openreg_driver.h"

namespace openreg {

/// Thrown with an error that orDriverError has been told of; Guarded makes it what the call returns.
struct Refused : std::exception {
  explicit Refused(orError_t error) : error(error) {}
  const char* what() const noexcept override { return orGetErrorString(error); }

  const orError_t error;
};

/// Lets a call go on if there is no error.
inline void require(orError_t error) {
  if (error != orSuccess) [[unlikely]] {
    throw Refused{error};
  }
}

} // namespace openreg
