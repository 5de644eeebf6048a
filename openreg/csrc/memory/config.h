// Sizes, and the settings that users give in PYTORCH_ALLOC_CONF.
#pragma once

#include <c10/core/AllocatorConfig.h>

namespace openreg {

// LITERALINCLUDE START: CONFIG
/** @brief Whether a tensor of so many bytes is served from the pool of small blocks. */
inline bool isSmall(size_t size) {
  return size <= c10::CachingAllocator::kSmallSize;
}

/** @brief The size of the block for a tensor of `size` bytes. */
size_t roundSize(size_t size);

/** @brief How much to ask the driver for when a block of `size` bytes is wanted. */
size_t segmentSize(size_t size);

/** @brief Whether a free block of `available` bytes may serve as one of `size`: it should not waste a huge one. */
bool fits(size_t available, size_t size);

/** @brief Whether what is left of a block of `available` bytes is worth being a block of its own. */
bool worthCutting(size_t available, size_t size, bool small);

/** @brief Whether memory is filled with 0xCB when it is allocated by the driver and when it becomes free. */
bool poisons();
// LITERALINCLUDE END: CONFIG

} // namespace openreg
