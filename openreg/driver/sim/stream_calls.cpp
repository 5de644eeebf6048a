// Calls about streams.
#include <algorithm>

#include "calls.h"
#include "simulator.h"

namespace openreg::sim {

namespace {

Stream* find(orStream_t stream) {
  return simulator().streams.find(number(stream));
}

orError_t invalid(orStream_t stream) {
  return invalidHandle("stream", "a stream", number(stream));
}

orError_t tooMany(const Device& device) {
  return orDriverError(
      orErrorMemoryAllocation, "device %d has too many streams; expected some to be destroyed first", device.index);
}

/// Stands in a stream until another one has come to a certain point.
class WaitCommand final : public Command {
 public:
  explicit WaitCommand(const Event::Version& version) : version_(version) {}
  void run(Stream& stream) override {
    // Our own device's: the other's failure moves its stream on, once what is running there has ended. A lost device is
    // not waited for even so long.
    const Failure& failure = stream.device().failure;
    Stream& source = *version_.source;
    source.wait(version_.position, [&] { return failure.exists() || source.device().failure.lost().load(); });
  }

 private:
  Event::Version version_;
};

class HostCommand final : public Command {
 public:
  HostCommand(orHostFn_t function, void* userData) : function_(function), userData_(userData) {}
  void run(Stream&) override { function_(userData_); }

 private:
  orHostFn_t function_;
  void* userData_;
};

} // namespace

orError_t deviceGetStreamPriorityRange(int* least, int* greatest, int) {
  *least = kLeastPriority;
  *greatest = kGreatestPriority;
  return orSuccess;
}

orError_t streamGetDefault(orStream_t* stream, int index) {
  Device& device = *simulator().devices[static_cast<size_t>(index)];
  if (const orError_t error = device.use()) {
    return error;
  }
  const uint64_t handle = device.defaultStream();
  *stream = handleOf<orStream_t>(handle);
  return handle != 0 ? orSuccess : tooMany(device);
}

orError_t streamCreateWithPriority(orStream_t* stream, unsigned int, int priority, int index) {
  Device& device = *simulator().devices[static_cast<size_t>(index)];
  if (const orError_t error = device.use()) {
    return error;
  }
  const uint64_t handle = device.createStream(std::clamp(priority, kGreatestPriority, kLeastPriority));
  *stream = handleOf<orStream_t>(handle);
  return handle != 0 ? orSuccess : tooMany(device);
}

orError_t streamDestroy(orStream_t stream) {
  Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  if (it->device().isDefault(number(stream))) {
    return orDriverError(
        orErrorInvalidHandle, "argument 'stream' is the default stream of device %d; expected one from orStreamCreate",
        it->device().index);
  }
  return it->close(number(stream)) ? orSuccess : invalid(stream);
}

orError_t streamGetPriority(orStream_t stream, int* priority) {
  const Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  *priority = it->priority();
  return orSuccess;
}

orError_t streamGetDevice(orStream_t stream, int* device) {
  const Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  *device = it->device().index;
  return orSuccess;
}

orError_t streamQuery(orStream_t stream) {
  Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  const bool idle = it->idle(); // Before the failure: the last piece of work may be what fails.
  if (const orError_t error = it->device().failure.surface()) {
    return error;
  }
  if (!idle) {
    it->nudge();
    return orErrorNotReady;
  }
  return orSuccess;
}

orError_t streamSynchronize(orStream_t stream) {
  Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  Device& device = it->device();
  if (const orError_t error = device.failure.check()) {
    return error;
  }
  it->waitUnlessLost(it->submitted());
  return device.failure.surface();
}

orError_t streamWaitEvent(orStream_t stream, orEvent_t event, unsigned int) {
  Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  Event* awaited = simulator().events.find(number(event));
  if (awaited == nullptr) {
    return invalidHandle("event", "an event", number(event));
  }
  if (const orError_t error = it->device().use()) {
    return error;
  }
  const Event::Version version = awaited->latest();
  if (version.source == it || version.complete()) {
    return orSuccess; // A stream is in order anyway, and what is complete stays so.
  }
  return it->submit<WaitCommand>(number(stream), version);
}

orError_t launchHostFunc(orStream_t stream, orHostFn_t function, void* userData) {
  Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  if (const orError_t error = it->device().use()) {
    return error;
  }
  return it->submit<HostCommand>(number(stream), function, userData);
}

} // namespace openreg::sim
