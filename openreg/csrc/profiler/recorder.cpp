// What happens on the devices and in the driver's entries, kept until somebody looks at it.
#include "profiler/kineto.h"

#include "profiler/recorder.h"

#include "device/device.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace openreg {
namespace {

// Of each thread: the operators that it is in, the innermost last, and the innermost annotation.
struct Inside {
  std::vector<uint64_t> ops;
  std::shared_ptr<const Annotation> annotation;
};

thread_local Inside inside;

/// Those that are in use: one is not to be woken by being looked at.
std::vector<int> devicesInUse() {
  std::vector<int> devices;
  for (c10::DeviceIndex device = 0; device < deviceCount(); ++device) {
    int active = 0;
    if (orDeviceGetState(&active, device) == orSuccess && active != 0) {
      devices.push_back(device);
    }
  }
  return devices;
}

} // namespace

void Recorder::pushOp(uint64_t number) {
  inside.ops.push_back(number);
}

void Recorder::popOp() noexcept {
  if (!inside.ops.empty()) { // one that began before the profiler did was never pushed
    inside.ops.pop_back();
  }
}

void Recorder::pushAnnotation(uint64_t number) {
  inside.annotation = std::make_shared<const Annotation>(Annotation{number, inside.annotation});
}

void Recorder::popAnnotation() noexcept {
  if (inside.annotation != nullptr) {
    inside.annotation = std::shared_ptr(inside.annotation->outer);
  }
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
    it.op = inside.ops.empty() ? 0 : inside.ops.back();
    it.annotation = inside.annotation;
    it.thread = libkineto::systemThreadId();
  }
  try {
    const std::lock_guard lock(recorder.mutex_);
    recorder.recorded_.push_back(std::move(it));
  } catch (const std::bad_alloc&) {
    return; // a trace with a hole is better than a program that ends
  }
}

void Recorder::start() noexcept {
  recorded_.clear();
  errors_.clear();
  if (deviceCount() > 0) {
    noteDefaultStreams();
    note(orActivitySubscribe(&subscriber_, &receive, this));
  }
}

void Recorder::stop() noexcept {
  if (subscriber_ == nullptr) {
    return;
  }
  noteDefaultStreams();
  for (const int device : devicesInUse()) {
    note(orDeviceSynchronize(device)); // what has not ended has no record
  }
  note(orActivityUnsubscribe(subscriber_));
  subscriber_ = nullptr;
}
// LITERALINCLUDE END: PROFILER RECEIVE

void Recorder::noteDefaultStreams() {
  for (const int device : devicesInUse()) {
    orStream_t stream = nullptr;
    if (orStreamGetDefault(&stream, device) == orSuccess) { // a device that has failed tells by what it is waited for
      defaultStreams_.insert(stream);
    }
  }
}

void Recorder::note(orError_t error) {
  if (error != orSuccess) {
    const std::lock_guard lock(mutex_);
    errors_.emplace_back(orGetLastErrorMessage());
    (void)orGetLastError();
  }
}

} // namespace openreg
