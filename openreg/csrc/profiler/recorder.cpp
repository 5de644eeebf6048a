// What happens on the devices and in the driver's entries, kept until somebody looks at it.
#include "profiler/kineto.h"

#include "profiler/recorder.h"

#include "device/device.h"

#include <algorithm>
#include <cstring>

namespace openreg {
namespace {

// Of each thread: the operators and annotations that it is in, the innermost last.
struct Inside {
  std::vector<uint64_t> ops;
  std::vector<uint64_t> annotations;
};

thread_local Inside inside;

uint64_t innermost(const std::vector<uint64_t>& numbers) {
  return numbers.empty() ? 0 : numbers.back();
}

void pop(std::vector<uint64_t>& numbers) {
  if (!numbers.empty()) { // one that began before the profiler did was never pushed
    numbers.pop_back();
  }
}

} // namespace

void Recorder::pushOp(uint64_t number) {
  inside.ops.push_back(number);
}

void Recorder::popOp() noexcept {
  pop(inside.ops);
}

void Recorder::pushAnnotation(uint64_t number) {
  inside.annotations.push_back(number);
}

void Recorder::popAnnotation() noexcept {
  pop(inside.annotations);
}

// LITERALINCLUDE START: PROFILER RECEIVE
/// On the thread that called, for a call; on one of the driver's, for the work of a device. Calls nothing that could
/// come back to the driver: its locks may be held.
void Recorder::receive(const orActivityRecord* record, void* self) noexcept {
  auto& recorder = *static_cast<Recorder*>(self);
  Recorded it;
  std::memcpy(&it.record, record, std::min(record->size, sizeof(it.record))); // an older driver's may be shorter
  const bool called = record->stream == nullptr;
  if (called) {
    it.op = innermost(inside.ops);
    it.annotation = innermost(inside.annotations);
    it.thread = libkineto::systemThreadId();
  }
  try {
    const std::lock_guard lock(recorder.mutex_);
    recorder.recorded_.push_back(it);
  } catch (const std::bad_alloc&) {
    return; // a trace with a hole is better than a program that ends
  }
}

void Recorder::start() noexcept {
  recorded_.clear();
  errors_.clear();
  if (deviceCount() > 0) {
    note(orActivitySubscribe(&subscriber_, &receive, this));
  }
}

void Recorder::stop() noexcept {
  if (subscriber_ == nullptr) {
    return;
  }
  for (c10::DeviceIndex device = 0; device < deviceCount(); ++device) {
    int active = 0;
    if (orDeviceGetState(&active, device) == orSuccess && active != 0) {
      note(orDeviceSynchronize(device)); // what has not ended has no record
    }
  }
  note(orActivityUnsubscribe(subscriber_));
  subscriber_ = nullptr;
}
// LITERALINCLUDE END: PROFILER RECEIVE

void Recorder::note(orError_t error) {
  if (error != orSuccess) {
    const std::lock_guard lock(mutex_);
    errors_.emplace_back(orGetLastErrorMessage());
    (void)orGetLastError();
  }
}

} // namespace openreg
