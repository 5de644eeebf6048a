// Blocks that are free but for the work of other streams: they wait for events.
#pragma once

#include "memory/block.h"

#include <deque>
#include <map>
#include <utility>

namespace openreg {

// LITERALINCLUDE START: PENDING
/**
 * @brief Blocks whose tensors are gone while other streams may still be at work on them.
 *
 * Not thread-safe: DeviceMemory holds its lock, or has the object to itself. The events of one stream pass in the order
 * in which they were recorded, so that only the first of each stream has to be asked.
 */
class Pending {
 public:
  /** @brief Adds a block. Its events have been recorded. */
  void add(Block* block);

  /** @brief Removes the blocks whose events have all passed, and returns them. Does not block. */
  std::vector<Block*> takePassed();

  /** @brief Blocks until all events have passed. */
  void wait() const noexcept;

  bool empty() const { return queues_.empty(); }

 private:
  std::map<orStream_t, std::deque<std::pair<orEvent_t, Block*>>> queues_;
};
// LITERALINCLUDE END: PENDING

} // namespace openreg
