// The error of a device that has no memory left.
#pragma once

#include <c10/core/Device.h>

namespace openreg {

/// What there is to know where an allocation has failed. All sizes are bytes.
struct Shortage {
  c10::DeviceIndex device;
  size_t asked;
  size_t used;    // by tensors, and by streams still at work on those that died
  size_t cached;  // reserved beyond that: free pieces of segments of which other pieces are used
  size_t largest; // of these pieces
  size_t limit;
  // LITERALINCLUDE START: KEPT BY GRAPHS
  size_t keptByGraphs = 0; // of what is cached
  // LITERALINCLUDE END: KEPT BY GRAPHS
};

/** @brief Throws c10::OutOfMemoryError. Hold no lock: making an exception may take Python's GIL. */
[[noreturn]] void throwOutOfMemory(const Shortage& shortage);

} // namespace openreg
