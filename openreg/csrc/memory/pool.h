// Free blocks: finding the one that fits best, cutting it, and joining it with its neighbours again.
#pragma once

#include "memory/block.h"
#include "memory/statistics.h"

#include <set>
#include <tuple>

namespace openreg {

// LITERALINCLUDE START: POOL
/**
 * @brief The free blocks of one device, either the small or the large ones. Each stream finds only its own.
 *
 * Not thread-safe: DeviceMemory holds its lock. Keeps the statistics of split blocks.
 */
class Pool {
 public:
  explicit Pool(DeviceStats& stats) : stats_(stats) {}

  /** @brief Takes the smallest block of `stream` with at least `size` bytes out, cut to size; null if there is none. */
  Block* take(orStream_t stream, size_t size);

  /** @brief Cuts a block that is in no pool to `size` bytes, if that is worth it; the rest goes into the pool. */
  void cut(Block* block, size_t size);

  /** @brief Puts a block in, joined with the free blocks beside it. */
  void put(Block* block);

  /** @brief Takes blocks out that are whole segments, of any stream, those first that have been free for longest. */
  std::vector<Block*> takeSegments(size_t bytes);

  /** @brief Size of the largest block, of any stream. */
  size_t largest() const;

 private:
  struct BySize {
    bool operator()(const Block* a, const Block* b) const {
      return std::tie(a->stream, a->size, a->data) < std::tie(b->stream, b->size, b->data);
    }
  };

  void insert(Block* block);
  void remove(Block* block);

  std::set<Block*, BySize> blocks_;
  DeviceStats& stats_;
};
// LITERALINCLUDE END: POOL

} // namespace openreg
