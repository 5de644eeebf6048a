// Blocks that are free but for the work of other streams: they wait for events.
#include "memory/pending.h"

namespace openreg {

// LITERALINCLUDE START: PENDING FUNCTIONS
void Pending::add(Block* block) {
  for (const auto& use : block->uses) {
    queues_[use.stream].emplace_back(use.event, block);
  }
}

std::vector<Block*> Pending::takePassed() {
  std::vector<Block*> passed;
  for (auto it = queues_.begin(); it != queues_.end();) {
    auto& queue = it->second;
    // Any other answer than "not ready" means passed, an error, too: a device that has failed does no more work.
    while (!queue.empty() && orEventQuery(queue.front().first) != orErrorNotReady) {
      const auto [event, block] = queue.front();
      queue.pop_front();
      std::erase_if(block->uses, [event = event](const Use& use) { return use.event == event; });
      (void)orEventDestroy(event);
      if (block->uses.empty()) {
        passed.push_back(block);
      }
    }
    it = queue.empty() ? queues_.erase(it) : std::next(it);
  }
  return passed;
}

void Pending::wait() const noexcept {
  for (const auto& [stream, queue] : queues_) {
    for (const auto& [event, block] : queue) { // not just the last: two threads that free may arrive here the other way
      (void)orEventSynchronize(event);
    }
  }
}
// LITERALINCLUDE END: PENDING FUNCTIONS

} // namespace openreg
