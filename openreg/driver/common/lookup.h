// From a handle that a caller gave to the object it names.
#pragma once

#include <cstdint>

#include "handle.h"
#include "refused.h"

namespace openreg {

/// Refuses a call for a handle that names nothing of the wanted kind.
/// @param argument Name of the argument, where it is not that of the kind ("stream", "event", …).
[[noreturn]] void refuseHandle(HandleKind expected, uint64_t handle, const char* argument = nullptr);

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

/// The object of a table that a handle names; if there is none the call is refused.
template <class T, HandleKind kKind, uint32_t kMax, class H>
T& named(const HandleTable<T, kKind, kMax>& table, H* handle, const char* argument = nullptr) {
  T* found = table.find(number(handle));
  if (found == nullptr) [[unlikely]] {
    refuseHandle(kKind, number(handle), argument);
  }
  return *found;
}

/// Refuses a call if the handle with which it found the object is not valid any more. Under the object's lock.
inline void requireStill(const Handled& object, uint64_t handle) {
  if (object.handle.load(std::memory_order_relaxed) != handle) [[unlikely]] {
    refuseHandle(static_cast<HandleKind>(handle >> 56), handle);
  }
}

} // namespace openreg
