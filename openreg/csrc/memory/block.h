// A block: a piece of device memory that one tensor has, or that waits for the next one.
#pragma once

#include <openreg.h>

#include "memory/history/history.h"

#include <c10/core/Device.h>

#include <cstddef>
#include <vector>

namespace openreg {

class Pool;

// LITERALINCLUDE START: BLOCK
/// Work of another stream on a block, and the event that will tell when it is done: null if the driver has no events.
struct Use {
  orStream_t stream;
  orEvent_t event;
  c10::DeviceIndex device; // of the stream
};

/**
 * @brief A piece of a segment, which is what the driver allocates.
 *
 * It is the context of its tensor's DataPtr, so that freeing needs no look-up. Guarded by the lock of DeviceMemory.
 */
struct Block {
  Block(Pool* pool, bool small, char* data, size_t size) : pool(pool), small(small), data(data), size(size) {}

  Pool* pool; // Where it returns to: the pool of the stream that was current when it was allocated.
  bool small; // Whether that is a pool of small blocks.
  char* data;
  size_t size;
  size_t requested = 0;    // What the tensor asked for; `size` is that or more.
  Block* before = nullptr; // Its neighbours in the segment.
  Block* after = nullptr;
  bool sorted = false;   // In the pool's tree, hence ready to be joined with a neighbour.
  Block* next = nullptr; // In the pool's list of blocks of this size.
  std::vector<Use> uses; // What recordStream() was told.
  // LITERALINCLUDE START: BLOCK HISTORY
  /// What has happened to it last: ALLOC, FREE_REQUESTED or FREE_COMPLETED.
  TraceEntry::Action last = TraceEntry::FREE_COMPLETED;
  Context origin; // Where in the program it was allocated, if that is recorded.
  // LITERALINCLUDE END: BLOCK HISTORY

  /// A part of a segment can't go back to the driver; it has to wait for its neighbours.
  bool split() const { return before != nullptr || after != nullptr; }
};
// LITERALINCLUDE END: BLOCK

} // namespace openreg
