// The free blocks of one stream: finding the one that fits best, cutting it, joining it with its neighbours again.
#pragma once

#include "memory/block.h"
#include "memory/statistics.h"

// LITERALINCLUDE START: POOL OWNER
#include <c10/core/Allocator.h>
// LITERALINCLUDE END: POOL OWNER
// LITERALINCLUDE START: POOL SEGMENTS
#include <map>
// LITERALINCLUDE END: POOL SEGMENTS
#include <set>
#include <utility>

namespace openreg {

class DeviceMemory;

// LITERALINCLUDE START: POOL
/**
 * @brief The free blocks of one stream, either the small or the large ones. Not thread-safe: DeviceMemory locks.
 *
 * Small blocks are kept in a list for each size at first, where the next tensor of that size finds them at once. They
 * are joined with their neighbours when a size is wanted that is not there.
 */
class Pool {
 public:
  Pool(DeviceMemory& memory, orStream_t stream, bool small, DeviceStats& stats);

  /** @brief Takes out the smallest block of at least `size` bytes, cut to that size; null if there is none. */
  Block* take(size_t size);

  /** @brief Makes a block of `size` bytes out of a new segment; the rest goes into the pool. */
  Block* takeFrom(char* segment, size_t segmentSize, size_t size);

  /** @brief Puts a block in. */
  void put(Block* block);

  /** @brief Takes all blocks out that are whole segments. */
  std::vector<Block*> takeSegments();

  /** @brief Size of the largest block. */
  size_t largest() const { return sorted_.empty() ? 0 : (*sorted_.rbegin())->size; }

  // LITERALINCLUDE START: POOL SEGMENTS
  /** @brief The first block of each of its segments, and where in the program the segment was asked for, if known. */
  const std::map<const Block*, Context>& segments() const { return segments_; }

  // LITERALINCLUDE END: POOL SEGMENTS
  // LITERALINCLUDE START: POOL OWNER
  c10::MempoolId_t owner{0, 0}; ///< The private pool that it is a part of, if any.
  // LITERALINCLUDE END: POOL OWNER
  DeviceMemory& memory; // NOLINT(cppcoreguidelines-avoid-const-or-ref-data-members): it never moves
  const orStream_t stream;
  const bool small;

 private:
  struct BySize {
    bool operator()(const Block* a, const Block* b) const {
      return std::pair(a->size, a->data) < std::pair(b->size, b->data);
    }
  };

  void cut(Block* block, size_t size);
  void insert(Block* block);
  void remove(Block* block);
  static void swallowAfter(Block* block);
  void join(Block* block);
  void joinAll();

  DeviceStats& stats_;
  std::set<Block*, BySize> sorted_;
  std::vector<Block*> lists_; // by size, in units of the smallest
  size_t listed_ = 0;
  // LITERALINCLUDE START: POOL SEGMENTS
  std::map<const Block*, Context> segments_;
  // LITERALINCLUDE END: POOL SEGMENTS
};
// LITERALINCLUDE END: POOL

} // namespace openreg
