// The history of a device's memory: the last actions of the allocator, and where in the program each was asked for.
#include "memory/history/history.h"

#include <c10/util/ApproximateClock.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <atomic>

namespace openreg {
namespace {

// Each is read for itself: an action that meets a change of settings may be recorded by either.
std::atomic<bool> recording = false;
std::atomic<RecordContext> recordedStacks = RecordContext::NEVER;
std::atomic<bool> withNativeFrames = false;
std::atomic<size_t> mostEntries = 0;

thread_local const Origin* innermost = nullptr;

} // namespace

// LITERALINCLUDE START: HISTORY FUNCTIONS
void setHistory(const HistorySettings& settings) {
  recordedStacks.store(settings.stacks, std::memory_order_relaxed);
  withNativeFrames.store(settings.nativeFrames, std::memory_order_relaxed);
  mostEntries.store(settings.maxEntries, std::memory_order_relaxed);
  recording.store(settings.enabled, std::memory_order_relaxed);
}

Origin::Origin(RecordContext actions) noexcept {
  if (!recording.load(std::memory_order_relaxed)) {
    return;
  }
  walked_ = true;
  outer_ = std::exchange(innermost, this);
  if (recordedStacks.load(std::memory_order_relaxed) < actions) {
    return;
  }
  try {
    // Of a thread that Python does not know there is nothing to see.
    context_ = torch::CapturedTraceback::gather(true, true, withNativeFrames.load(std::memory_order_relaxed));
  } catch (const std::exception&) {
    context_ = nullptr; // a tensor that dies must not fail because it is being watched
  }
}

// What Python holds of the stack goes later, when another stack is walked: here nobody takes the GIL.
Origin::~Origin() {
  if (walked_) {
    innermost = outer_;
  }
}

Context Origin::here() {
  return innermost == nullptr ? nullptr : innermost->context_;
}

void History::record(TraceEntry::Action action, size_t address, size_t size, void* stream, const Context& context) {
  if (!recording.load(std::memory_order_relaxed)) {
    return;
  }
  const bool withStack = recordedStacks.load(std::memory_order_relaxed) >= RecordContext::ALLOC;
  auto& entry = entries_.emplace_back(
      action, c10::DeviceIndex{0}, address, size, stream, c10::MempoolId_t(0, 0), c10::approx_time_t{},
      withStack ? context : nullptr);
  entry.time_.t_ = c10::getTime() / 1000; // microseconds
  while (entries_.size() > mostEntries.load(std::memory_order_relaxed)) {
    entries_.pop_front();
  }
}
// LITERALINCLUDE END: HISTORY FUNCTIONS

} // namespace openreg
