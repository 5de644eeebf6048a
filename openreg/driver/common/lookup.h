// From a handle that a caller gave to the object it names, or the error.
#pragma once

#include <cstdint>

#include "openreg.h"

namespace openreg {

/// Describes a handle that names nothing of the wanted kind; returns orErrorInvalidHandle.
/// @param argument Name of the argument.
/// @param expected What it should have been: "a stream".
/// @param handle What came.
orError_t invalidHandle(const char* argument, const char* expected, uint64_t handle);

/// A C handle as the number it is.
template <class H>
uint64_t number(H* handle) {
  return reinterpret_cast<uint64_t>(handle);
}

/// A number as the C handle that callers see.
template <class H>
H handleOf(uint64_t number) {
  return reinterpret_cast<H>(number);
}

} // namespace openreg
