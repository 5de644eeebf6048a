// Calls about streams.
#pragma once

#include <algorithm>

#include "calls.h"
#include "event_calls.h"

namespace openreg {

/// Priorities are kept and reported. They change nothing here: the host's scheduler decides which worker runs.
constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -1;

template <class Driver>
struct StreamCalls {
  using Given = openreg::Given<Driver>;

  static void deviceGetStreamPriorityRange(int* least, int* greatest, int) {
    *least = kLeastPriority;
    *greatest = kGreatestPriority;
  }

  static orError_t streamGetDefault(orStream_t* stream, int index) {
    auto& it = Given::usedDevice(index);
    return give(stream, it.defaultStream(), index);
  }

  static orError_t streamCreateWithPriority(orStream_t* stream, unsigned int, int priority, int index) {
    auto& it = Given::usedDevice(index);
    return give(stream, it.createStream(std::clamp(priority, kGreatestPriority, kLeastPriority)), index);
  }

  static orError_t streamDestroy(orStream_t stream) {
    auto& it = Given::stream(stream);
    if (it.device().isDefault(number(stream))) {
      return orDriverError(
          orErrorInvalidHandle,
          "argument 'stream' is the default stream of device %d; expected one from orStreamCreate", it.device().index);
    }
    if (!it.close(number(stream))) {
      refuseHandle(HandleKind::Stream, number(stream));
    }
    return orSuccess;
  }

  static void streamGetPriority(orStream_t stream, int* priority) { *priority = Given::stream(stream).priority(); }

  static void streamGetDevice(orStream_t stream, int* device) { *device = Given::stream(stream).device().index; }

  static orError_t streamQuery(orStream_t stream) {
    auto& it = Given::stream(stream);
    Given::all().captures.refuse(it, kNotExecuted);
    const bool idle = it.poll(number(stream)); // Asked before the failure: the last piece of work may be what fails.
    require(it.device().surface());
    return idle ? orSuccess : orErrorNotReady;
  }

  static orError_t streamSynchronize(orStream_t stream) {
    auto& it = Given::stream(stream);
    auto& device = it.device();
    require(device.failure.check());
    Given::all().captures.refuse(it, kNotExecuted);
    it.synchronize(number(stream));
    return device.surface();
  }

  static void streamWaitEvent(orStream_t stream, orEvent_t event, unsigned int) {
    auto& it = Given::stream(stream);
    auto& awaited = Given::event(event);
    require(it.device().use());
    if (auto shared = awaited.shared()) {
      Given::all().captures.refuse(it, kOfOneProcess);
      EventCalls<Driver>::queueWaitShared(std::move(shared), it, number(stream));
    } else if (!EventCalls<Driver>::waitCaptured(it, number(stream), awaited)) {
      it.queueWait(number(stream), awaited);
    }
  }

  static void launchHostFunc(orStream_t stream, orHostFn_t function, void* userData) {
    auto& it = Given::usedStream(stream);
    if (it.captures() && Given::all().captures.add(it, number(stream), HostWork{function, userData})) {
      return;
    }
    it.queueHostFunction(number(stream), function, userData, /*always=*/false);
  }

 private:
  static orError_t give(orStream_t* stream, uint64_t handle, int device) {
    *stream = handleOf<orStream_t>(handle);
    return handle != 0 ? orSuccess
                       : orDriverError(
                             orErrorMemoryAllocation,
                             "device %d has too many streams; expected some to be destroyed first", device);
  }
};

} // namespace openreg
