// Giving streams their scratch memory.
#include "scratch.h"

#include <cstddef>

#include "driver.h"

namespace openreg::cuda {

CUdeviceptr Scratches::of(CUstream stream) {
  const std::lock_guard lock(mutex_);
  if (const auto found = used_.find(stream); found != used_.end()) {
    return found->second.memory;
  }
  if (unused_.empty()) {
    Slot made;
    OPENREG_CUDA(cuMemAlloc, &made.memory, sizeof(Scratch));
    unused_.push_back(made);
  }
  const Slot slot = unused_.back();
  if (slot.lastUse != nullptr) {
    OPENREG_CUDA(cuStreamWaitEvent, stream, slot.lastUse, 0);
  }
  // Where work was given up, it has left tallies.
  OPENREG_CUDA(cuMemsetD8Async, slot.memory + offsetof(Scratch, tallies), 0, sizeof(Scratch::tallies), stream);
  unused_.pop_back();
  used_.emplace(stream, slot);
  return slot.memory;
}

void Scratches::release(CUstream stream) {
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(stream);
  if (found == used_.end()) {
    return;
  }
  Slot slot = found->second;
  used_.erase(found);
  if (slot.lastUse == nullptr && library().cuEventCreate(&slot.lastUse, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    return; // The context is at its end, and with it the memory.
  }
  if (library().cuEventRecord(slot.lastUse, stream) == CUDA_SUCCESS) {
    unused_.push_back(slot);
  }
}

void Scratches::forget() {
  const std::lock_guard lock(mutex_);
  used_.clear();
  unused_.clear();
}

} // namespace openreg::cuda
