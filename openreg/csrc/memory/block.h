// A block: a piece of device memory that belongs to one tensor, or waits in a pool for the next.
#pragma once

#include <openreg.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace openreg {

class DeviceMemory;

// LITERALINCLUDE START: BLOCK
/// Work of a stream other than the block's own, and the event that will tell when it is done.
struct Use {
  orStream_t stream;
  orEvent_t event;
};

/**
 * @brief A block. Segments, which are what the driver allocates, are cut into blocks.
 *
 * It is the context of the tensor's DataPtr, so that freeing needs no look-up. While a tensor has it, only `uses` may
 * change; all else is guarded by the lock of its owner.
 */
struct Block {
  DeviceMemory* owner;
  orStream_t stream; // The stream that was current when it was allocated: the one that may use it again at once.
  bool small;        // Which pool it belongs to.
  char* data;
  size_t size;
  size_t requested = 0;    // What the tensor asked for; `size` is rounded up from it.
  bool pooled = false;     // Free: no tensor has it, and no other stream is at work on it.
  uint64_t freedAt = 0;    // Counts up, so that a smaller number is longer ago.
  Block* before = nullptr; // Its neighbours in the segment.
  Block* after = nullptr;
  std::vector<Use> uses; // What recordStream() has told.

  /// Part of a segment: the driver can't have it back before its neighbours are free, too.
  bool split() const { return before != nullptr || after != nullptr; }
};
// LITERALINCLUDE END: BLOCK

} // namespace openreg
