// Calls about events.
#pragma once

#include "calls.h"

namespace openreg {

template <class Driver>
struct EventCalls : Calls<Driver> {
  using typename Calls<Driver>::Device;
  using typename Calls<Driver>::Stream;
  using typename Calls<Driver>::Event;
  using Calls<Driver>::all;
  using Calls<Driver>::device;
  using Calls<Driver>::find;
  using Calls<Driver>::invalid;

  static orError_t eventCreateWithFlags(orEvent_t* event, unsigned int flags, int index) {
    Device& owner = device(index);
    if (const orError_t error = owner.use()) {
      return error;
    }
    Event* it = all().events.acquire();
    if (it == nullptr) {
      return orDriverError(orErrorMemoryAllocation, "there are too many events; expected some to be destroyed first");
    }
    *event = handleOf<orEvent_t>(it->open(owner, (flags & orEventDisableTiming) == 0));
    return orSuccess;
  }

  static orError_t eventDestroy(orEvent_t event) {
    Event* it = find(event);
    return it != nullptr && it->close(number(event)) ? orSuccess : invalid(event);
  }

  static orError_t eventRecord(orEvent_t event, orStream_t stream) {
    Event* it = find(event);
    if (it == nullptr) {
      return invalid(event);
    }
    Stream* on = find(stream);
    if (on == nullptr) {
      return invalid(stream);
    }
    if (&on->device() != &it->device()) {
      return orDriverError(
          orErrorInvalidHandle, "argument 'stream' is a stream of device %d; expected one of device %d, the event's",
          on->device().index, it->device().index);
    }
    if (const orError_t error = it->device().use()) {
      return error;
    }
    return it->record(number(event), *on, number(stream));
  }

  static orError_t eventQuery(orEvent_t event) {
    Event* it = find(event);
    if (it == nullptr) {
      return invalid(event);
    }
    const bool complete = it->latest().poll(); // Before the failure, which the work may bring.
    if (const orError_t error = it->device().surface()) {
      return error;
    }
    return complete ? orSuccess : orErrorNotReady;
  }

  static orError_t eventSynchronize(orEvent_t event) {
    Event* it = find(event);
    if (it == nullptr) {
      return invalid(event);
    }
    Device& device = it->device();
    if (const orError_t error = device.failure.check()) {
      return error;
    }
    it->latest().wait();
    return device.surface();
  }

  static orError_t eventElapsedTime(float* milliseconds, orEvent_t start, orEvent_t end) {
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
    auto from = first->stamp();
    auto to = last->stamp();
    if (const orError_t error = first->device().surface()) {
      return error;
    }
    if (!from.complete || !to.complete) {
      return orErrorNotReady;
    }
    if (const orError_t error = first->readTime(from)) {
      return error;
    }
    if (const orError_t error = last->readTime(to)) {
      return error;
    }
    *milliseconds = static_cast<float>(static_cast<double>(to.ns - from.ns) / 1e6);
    return orSuccess;
  }

 private:
  static orError_t useless(orEvent_t event, const char* argument, const char* why) {
    return orDriverError(
        orErrorInvalidHandle, "argument '%s' is 0x%llx, which %s", argument,
        static_cast<unsigned long long>(number(event)), why);
  }

  static orError_t checkTimed(orEvent_t event, const char* argument) {
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
};

} // namespace openreg
