// The free blocks of one stream: finding the one that fits best, cutting it, joining it with its neighbours again.
#include "memory/pool.h"

#include "memory/config.h"
#include "memory/history/history.h"

#include <algorithm>
#include <iterator>
#include <memory>

namespace openreg {

using c10::CachingAllocator::kMinBlockSize;
using c10::CachingAllocator::kSmallSize;

Pool::Pool(DeviceMemory& memory, orStream_t stream, bool small, DeviceStats& stats)
    : memory(memory), stream(stream), small(small), stats_(stats), lists_(small ? kSmallSize / kMinBlockSize + 1 : 0) {}

// LITERALINCLUDE START: POOL TAKE
Block* Pool::take(size_t size) {
  if (const auto list = size / kMinBlockSize; list < lists_.size() && lists_[list] != nullptr) {
    Block* block = std::exchange(lists_[list], lists_[list]->next);
    --listed_;
    countInactive(stats_, *block, kLess);
    return block;
  }
  Block wanted(this, small, nullptr, size);
  auto found = sorted_.lower_bound(&wanted);
  if (found == sorted_.end() && listed_ > 0) {
    joinAll();
    found = sorted_.lower_bound(&wanted);
  }
  if (found == sorted_.end() || !fits((*found)->size, size)) {
    return nullptr;
  }
  Block* block = *found;
  remove(block);
  cut(block, size);
  return block;
}

void Pool::cut(Block* block, size_t size) {
  if (!worthCutting(block->size, size, small)) {
    return;
  }
  auto* rest = new Block(this, small, block->data + size, block->size - size);
  block->size = size;
  rest->before = block;
  rest->after = std::exchange(block->after, rest);
  if (rest->after != nullptr) {
    rest->after->before = rest;
  }
  insert(rest);
}
// LITERALINCLUDE END: POOL TAKE

Block* Pool::takeFrom(char* segment, size_t segmentSize, size_t size) {
  auto* block = new Block(this, small, segment, segmentSize);
  countSegment(stats_, *block, kMore);
  // LITERALINCLUDE START: POOL SEGMENTS FUNCTIONS
  segments_.emplace(block, Origin::here());
  // LITERALINCLUDE END: POOL SEGMENTS FUNCTIONS
  cut(block, size);
  return block;
}

// LITERALINCLUDE START: POOL PUT
void Pool::put(Block* block) {
  if (const auto list = block->size / kMinBlockSize; list < lists_.size()) {
    block->next = std::exchange(lists_[list], block);
    ++listed_;
    countInactive(stats_, *block, kMore);
  } else {
    join(block);
  }
}

// The first block of a segment stays as long as the segment does.
void Pool::swallowAfter(Block* block) {
  const std::unique_ptr<Block> after(block->after);
  block->size += after->size;
  block->after = after->after;
  if (block->after != nullptr) {
    block->after->before = block;
  }
}

void Pool::join(Block* block) {
  // Two sorted blocks never lie side by side: they would have been joined.
  if (auto* before = block->before; before != nullptr && before->sorted) {
    remove(before);
    swallowAfter(before);
    block = before;
  }
  if (auto* after = block->after; after != nullptr && after->sorted) {
    remove(after);
    swallowAfter(block);
  }
  insert(block);
}

void Pool::joinAll() {
  for (auto& list : lists_) {
    while (list != nullptr) {
      auto* block = std::exchange(list, list->next);
      countInactive(stats_, *block, kLess);
      join(block);
    }
  }
  listed_ = 0;
}
// LITERALINCLUDE END: POOL PUT

std::vector<Block*> Pool::takeSegments() {
  joinAll();
  std::vector<Block*> segments;
  std::ranges::copy_if(sorted_, std::back_inserter(segments), [](const Block* block) { return !block->split(); });
  for (auto* segment : segments) {
    remove(segment);
    countSegment(stats_, *segment, kLess);
    // LITERALINCLUDE START: POOL SEGMENTS FUNCTIONS
    segments_.erase(segment);
    // LITERALINCLUDE END: POOL SEGMENTS FUNCTIONS
  }
  return segments;
}

void Pool::insert(Block* block) {
  sorted_.insert(block);
  block->sorted = true;
  countInactive(stats_, *block, kMore);
}

void Pool::remove(Block* block) {
  sorted_.erase(block);
  block->sorted = false;
  countInactive(stats_, *block, kLess);
}

} // namespace openreg
