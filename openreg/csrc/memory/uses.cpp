// Which other streams use a block.
#include "memory/device_memory.h"

#include "stream/event.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <type_traits>

namespace openreg {
namespace {
using OwnedEvent = std::unique_ptr<std::remove_pointer_t<orEvent_t>, decltype(&orEventDestroy)>;
} // namespace

// LITERALINCLUDE START: RECORD STREAM
void DeviceMemory::recordStream(Block* block, orStream_t stream, c10::DeviceIndex device) {
  const auto known = [&] {
    const auto recorded = [stream](const Use& use) { return use.stream == stream; };
    return stream == block->pool->stream || std::ranges::any_of(block->uses, recorded);
  };
  std::unique_lock lock(mutex_);
  if (known()) {
    return;
  }
  lock.unlock(); // creating an event may fail
  OwnedEvent event(createEvent(device, orEventDisableTiming), &orEventDestroy);
  lock.lock();
  if (!known()) { // another thread may have been faster
    // What can throw comes before there is nobody to destroy the event.
    block->uses.reserve(block->uses.size() + 1);
    block->uses.push_back({stream, event.release(), device});
  }
  lock.unlock(); // before the event goes
}
// LITERALINCLUDE END: RECORD STREAM

} // namespace openreg
