// Free blocks: finding the one that fits best, cutting it, and joining it with its neighbours again.
#include "memory/pool.h"

#include "memory/config.h"

#include <algorithm>
#include <iterator>

namespace openreg {

// LITERALINCLUDE START: POOL TAKE
Block* Pool::take(orStream_t stream, size_t size) {
  Block key{};
  key.stream = stream;
  key.size = size;
  const auto found = blocks_.lower_bound(&key);
  if (found == blocks_.end() || (*found)->stream != stream || !fits((*found)->size, size)) {
    return nullptr;
  }
  Block* block = *found;
  remove(block);
  cut(block, size);
  return block;
}

void Pool::cut(Block* block, size_t size) {
  if (!worthCutting(block->size, size, block->small)) {
    return;
  }
  auto* rest = new Block{block->owner, block->stream, block->small, block->data + size, block->size - size};
  rest->before = block;
  rest->after = block->after;
  if (rest->after != nullptr) {
    rest->after->before = rest;
  }
  block->after = rest;
  block->size = size;
  insert(rest);
}
// LITERALINCLUDE END: POOL TAKE

// LITERALINCLUDE START: POOL PUT
void Pool::put(Block* block) {
  // At most one free block lies on either side: two in a row would have been joined before.
  if (Block* before = block->before; before != nullptr && before->pooled) {
    remove(before);
    block->data = before->data;
    block->size += before->size;
    block->before = before->before;
    if (block->before != nullptr) {
      block->before->after = block;
    }
    delete before;
  }
  if (Block* after = block->after; after != nullptr && after->pooled) {
    remove(after);
    block->size += after->size;
    block->after = after->after;
    if (block->after != nullptr) {
      block->after->before = block;
    }
    delete after;
  }
  insert(block);
}
// LITERALINCLUDE END: POOL PUT

// LITERALINCLUDE START: POOL SEGMENTS
std::vector<Block*> Pool::takeSegments(size_t bytes) {
  std::vector<Block*> segments;
  std::ranges::copy_if(blocks_, std::back_inserter(segments), [](const Block* block) { return !block->split(); });
  std::ranges::sort(segments, {}, &Block::freedAt);
  size_t taken = 0;
  std::erase_if(segments, [&](Block* block) {
    if (taken >= bytes) {
      return true;
    }
    taken += block->size;
    remove(block);
    return false;
  });
  return segments;
}
// LITERALINCLUDE END: POOL SEGMENTS

size_t Pool::largest() const {
  const auto found = std::ranges::max_element(blocks_, {}, &Block::size);
  return found == blocks_.end() ? 0 : (*found)->size;
}

void Pool::insert(Block* block) {
  blocks_.insert(block);
  block->pooled = true;
  if (block->split()) {
    countInactiveSplit(stats_, *block, kMore);
  }
}

void Pool::remove(Block* block) {
  blocks_.erase(block);
  block->pooled = false;
  if (block->split()) {
    countInactiveSplit(stats_, *block, kLess);
  }
}

} // namespace openreg
