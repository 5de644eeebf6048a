// Calls about events.
#pragma once

#include "calls.h"

namespace openreg {

template <class Driver>
struct EventCalls {
  using Given = openreg::Given<Driver>;

  static void eventCreateWithFlags(orEvent_t* event, unsigned int flags, int index) {
    auto& owner = Given::usedDevice(index);
    auto* it = Given::all().events.acquire();
    if (it == nullptr) {
      throw Refused{
          orDriverError(orErrorMemoryAllocation, "there are too many events; expected some to be destroyed first")};
    }
    *event = handleOf<orEvent_t>(it->open(owner, (flags & orEventDisableTiming) == 0));
  }

  static void eventDestroy(orEvent_t event) {
    if (!Given::event(event).close(number(event))) {
      refuseHandle(HandleKind::Event, number(event));
    }
  }

  static void eventRecord(orEvent_t event, orStream_t stream) {
    auto& it = Given::event(event);
    auto& on = Given::stream(stream);
    if (&on.device() != &it.device()) {
      throw Refused{orDriverError(
          orErrorInvalidHandle, "argument 'stream' is a stream of device %d; expected one of device %d, the event's",
          on.device().index, it.device().index)};
    }
    require(it.device().use());
    it.record(number(event), on, number(stream));
  }

  static orError_t eventQuery(orEvent_t event) {
    auto& it = Given::event(event);
    const bool complete = it.latest().poll(); // Before the failure, which the work may bring.
    require(it.device().surface());
    return complete ? orSuccess : orErrorNotReady;
  }

  static orError_t eventSynchronize(orEvent_t event) {
    auto& it = Given::event(event);
    auto& device = it.device();
    require(device.failure.check());
    it.latest().wait();
    return device.surface();
  }

  static orError_t eventElapsedTime(float* milliseconds, orEvent_t start, orEvent_t end) {
    auto& first = timed(start, "start");
    auto& last = timed(end, "end");
    if (&first.device() != &last.device()) {
      return orDriverError(
          orErrorInvalidHandle, "argument 'end' is an event of device %d; expected one of device %d, as 'start' is",
          last.device().index, first.device().index);
    }
    auto from = first.stamp();
    auto to = last.stamp();
    require(first.device().surface());
    if (!from.complete || !to.complete) {
      return orErrorNotReady;
    }
    first.readTime(from);
    last.readTime(to);
    *milliseconds = static_cast<float>(static_cast<double>(to.ns - from.ns) / 1e6);
    return orSuccess;
  }

 private:
  /// An event that can have a time.
  static auto& timed(orEvent_t event, const char* argument) {
    auto& it = Given::event(event, argument);
    const char* lacks = !it.timed() ? "was created with orEventDisableTiming; expected an event with a time stamp"
                        : !it.stamp().recorded ? "was never recorded; expected a recorded event"
                                               : nullptr;
    if (lacks != nullptr) {
      throw Refused{orDriverError(
          orErrorInvalidHandle, "argument '%s' is 0x%llx, which %s", argument,
          static_cast<unsigned long long>(number(event)), lacks)};
    }
    return it;
  }
};

} // namespace openreg
