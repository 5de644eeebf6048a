// For drivers written in C++: a C function around one that may throw.
#pragma once

#include <new>
#include <stdexcept>
#include <system_error>

#include "openreg_driver.h"

namespace openreg {

/// What the host cannot give becomes an error like any other.
template <auto kFunction>
struct Guarded;

template <class... Args, orError_t (*kFunction)(Args...)>
struct Guarded<kFunction> {
  static orError_t call(Args... args) {
    try {
      return kFunction(args...);
    } catch (const std::invalid_argument& error) {
      return orDriverError(orErrorInvalidValue, "%s", error.what());
    } catch (const std::bad_alloc&) {
      return orDriverError(orErrorMemoryAllocation, "the host is out of memory");
    } catch (const std::system_error& error) {
      return orDriverError(orErrorMemoryAllocation, "the host cannot start a thread: %s", error.what());
    }
  }
};

template <auto kFunction>
constexpr auto guarded = &Guarded<kFunction>::call;

} // namespace openreg
