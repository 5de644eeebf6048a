// For drivers written in C++: a C function around one that may throw.
#pragma once

#include <new>
#include <stdexcept>
#include <system_error>
#include <type_traits>

#include "refused.h"

namespace openreg {

/// What a call is refused for is returned, and what the host cannot give becomes an error like any other. A function
/// that returns nothing has succeeded.
template <auto kFunction>
struct Guarded;

template <class Result, class... Args, Result (*kFunction)(Args...)>
struct Guarded<kFunction> {
  static orError_t call(Args... args) {
    try {
      if constexpr (std::is_same_v<Result, orError_t>) {
        return kFunction(args...);
      } else {
        kFunction(args...);
        return orSuccess;
      }
    } catch (const Refused& refused) {
      return refused.error;
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
