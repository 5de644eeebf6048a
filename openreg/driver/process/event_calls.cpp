// Calls about events.
#include "calls.h"
#include "lookup.h"
#include "openreg_driver.h"
#include "wire/text.h"

namespace openreg::process {

namespace {

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
  if (!it->latest().recorded) {
    return useless(event, argument, "was never recorded; expected a recorded event");
  }
  return orSuccess;
}

/// When a version that is complete was reached.
orError_t timeOf(const Event& event, const Event::Version& version, int64_t& ns) {
  const uint64_t life = event.device().life();
  ns = version.ns;
  if (ns != 0) {
    return orSuccess;
  }
  TimeAnswer answer;
  const orError_t error =
      event.device().request(Kind::EventTime, {pieceOf(EventFrame{.event = event.index})}, &answer, sizeof(answer));
  ns = answer.ns;
  if (error == orSuccess && (ns <= 0 || ns > sim::nowNs())) {
    return event.device().distrust(
        life, described(
                  "says that an event took place at %lld ns, which has not come yet or "
                  "never was",
                  static_cast<long long>(ns)));
  }
  return error;
}

} // namespace

orError_t eventCreateWithFlags(orEvent_t* event, unsigned int flags, int index) {
  Device& device = host().device(index);
  if (const orError_t error = device.use()) {
    return error;
  }
  Event* it = host().events.acquire();
  if (it == nullptr) {
    return orDriverError(orErrorMemoryAllocation, "there are too many events; expected some to be destroyed first");
  }
  *event = handleOf<orEvent_t>(it->open(device, (flags & orEventDisableTiming) == 0));
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
  Stream* on = find(stream);
  if (on == nullptr) {
    return invalid(stream);
  }
  if (&deviceOf(*on) != &it->device()) {
    return orDriverError(
        orErrorInvalidHandle, "argument 'stream' is a stream of device %d; expected one of device %d, the event's",
        deviceOf(*on).index, it->device().index);
  }
  if (const orError_t error = it->device().use()) {
    return error;
  }
  return it->device().record(*on, number(stream), *it, number(event));
}

orError_t eventQuery(orEvent_t event) {
  Event* it = find(event);
  if (it == nullptr) {
    return invalid(event);
  }
  const bool complete = it->latest().point.reached(); // Before the failure, which the work may bring.
  if (const orError_t error = it->device().surface()) {
    return error;
  }
  return complete ? orSuccess : orErrorNotReady;
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
  if (const Point point = it->latest().point; !point.reached()) {
    device.wait(point);
  }
  return device.surface();
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
  const Event::Version from = first->latest();
  const Event::Version to = last->latest();
  const bool complete = from.point.reached() && to.point.reached();
  if (const orError_t error = first->device().surface()) {
    return error;
  }
  if (!complete) {
    return orErrorNotReady;
  }
  int64_t fromNs = 0;
  int64_t toNs = 0;
  if (const orError_t error = timeOf(*first, from, fromNs)) {
    return error;
  }
  if (const orError_t error = timeOf(*last, to, toNs)) {
    return error;
  }
  *milliseconds = static_cast<float>(static_cast<double>(toNs - fromNs) / 1e6);
  return orSuccess;
}

} // namespace openreg::process
