// What can be said of a kernel's arguments without knowing the device's memory.
#pragma once

#include "entry.h"

namespace openreg::api {

/// Checks them as orLaunchKernel describes them.
inline void
checkArguments(Entry& entry, const void* args, size_t argsSize, const orPointerArg* pointers, size_t pointerCount) {
  entry.notNull(args != nullptr || argsSize == 0, "args", "the argument bytes, as 'argsSize' is not 0");
  entry.require(
      argsSize <= OPENREG_MAX_ARGUMENT_BYTES, orErrorInvalidValue, "argument 'argsSize' is %zu; expected at most %d",
      argsSize, OPENREG_MAX_ARGUMENT_BYTES);
  entry.notNull(pointers != nullptr || pointerCount == 0, "pointers", "the descriptors, as 'pointerCount' is not 0");
  entry.require(
      pointerCount <= OPENREG_MAX_POINTER_ARGS, orErrorInvalidValue,
      "argument 'pointerCount' is %zu; expected at most %d", pointerCount, OPENREG_MAX_POINTER_ARGS);
  for (size_t i = 0; entry.ok() && i < pointerCount; ++i) {
    const orPointerArg& pointer = pointers[i];
    entry.require(
        pointer.offset % 8 == 0 && pointer.offset + sizeof(void*) <= argsSize, orErrorInvalidValue,
        "argument 'pointers'[%zu] has offset %u; expected a multiple of 8 with a pointer inside the %zu argument bytes",
        i, pointer.offset, argsSize);
    entry.require(
        pointer.access != 0 && (pointer.access & ~unsigned{orAccessRead | orAccessWrite}) == 0, orErrorInvalidValue,
        "argument 'pointers'[%zu] has access 0x%x; expected orAccessRead, orAccessWrite or both", i, pointer.access);
  }
}

} // namespace openreg::api
