// Calls about events.
#include "calls.h"
#include "pause.h"
#include "simulator.h"

namespace openreg::sim {

namespace {

Event* find(orEvent_t event) {
  return simulator().events.find(number(event));
}

orError_t invalid(orEvent_t event, const char* argument = "event") {
  return invalidHandle(argument, "an event", number(event));
}

orError_t useless(orEvent_t event, const char* argument, const char* why) {
  return orDriverError(
      orErrorInvalidHandle, "argument '%s' is 0x%llx, which %s", argument,
      static_cast<unsigned long long>(number(event)), why);
}

/// An event as orEventElapsedTime needs it.
orError_t checkTimed(orEvent_t event, const char* argument) {
  Event* it = find(event);
  if (it == nullptr) {
    return invalid(event, argument);
  }
  if (!it->timed()) {
    return useless(event, argument, "was created with orEventDisableTiming; expected an event with a time stamp");
  }
  if (!it->stamp().recorded) {
    return useless(event, argument, "was never recorded; expected a recorded event");
  }
  return orSuccess;
}

} // namespace

orError_t eventCreateWithFlags(orEvent_t* event, unsigned int flags, int index) {
  Device& device = *simulator().devices[static_cast<size_t>(index)];
  if (const orError_t error = device.use()) {
    return error;
  }
  Event* it = simulator().events.acquire();
  if (it == nullptr) {
    return orDriverError(orErrorMemoryAllocation, "there are too many events; expected some to be destroyed first");
  }
  *event = handleOf<orEvent_t>(it->open(device, flags));
  return orSuccess;
}

orError_t eventDestroy(orEvent_t event) {
  Event* it = find(event);
  return it != nullptr && it->close(number(event)) ? orSuccess : invalid(event);
}

orError_t eventRecord(orEvent_t event, orStream_t stream) {
  Event* it = find(event);
  if (it == nullptr) {
    return invalid(event);
  }
  Stream* on = simulator().streams.find(number(stream));
  if (on == nullptr) {
    return invalidHandle("stream", "a stream", number(stream));
  }
  if (&on->device() != &it->device()) {
    return orDriverError(
        orErrorInvalidHandle, "argument 'stream' is a stream of device %d; expected one of device %d, the event's",
        on->device().index, it->device().index);
  }
  if (const orError_t error = it->device().use()) {
    return error;
  }
  const orError_t error = it->record(number(event), *on, number(stream));
  pausePoint("recorded");
  return error;
}

orError_t eventQuery(orEvent_t event) {
  Event* it = find(event);
  if (it == nullptr) {
    return invalid(event);
  }
  const Event::Version version = it->latest();
  const bool complete = version.complete(); // Before the failure, which the work may bring.
  if (const orError_t error = it->device().failure.surface()) {
    return error;
  }
  if (!complete) {
    version.source->nudge();
    return orErrorNotReady;
  }
  return orSuccess;
}

orError_t eventSynchronize(orEvent_t event) {
  Event* it = find(event);
  if (it == nullptr) {
    return invalid(event);
  }
  Device& device = it->device();
  if (const orError_t error = device.failure.check()) {
    return error;
  }
  if (const Event::Version version = it->latest(); version.source != nullptr) {
    version.source->waitUnlessLost(version.position);
  }
  return device.failure.surface();
}

orError_t eventElapsedTime(float* milliseconds, orEvent_t start, orEvent_t end) {
  if (const orError_t error = checkTimed(start, "start")) {
    return error;
  }
  if (const orError_t error = checkTimed(end, "end")) {
    return error;
  }
  Event* first = find(start);
  Event* last = find(end);
  if (first == nullptr || last == nullptr) {
    return first == nullptr ? invalid(start, "start") : invalid(end, "end");
  }
  if (&first->device() != &last->device()) {
    return orDriverError(
        orErrorInvalidHandle, "argument 'end' is an event of device %d; expected one of device %d, as 'start' is",
        last->device().index, first->device().index);
  }
  const Event::Stamp from = first->stamp();
  const Event::Stamp to = last->stamp();
  if (const orError_t error = first->device().failure.surface()) {
    return error;
  }
  if (!from.complete || !to.complete) {
    return orErrorNotReady;
  }
  *milliseconds = static_cast<float>(static_cast<double>(to.ns - from.ns) / 1e6);
  return orSuccess;
}

} // namespace openreg::sim
