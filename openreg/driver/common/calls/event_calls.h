// Calls about events.
#pragma once

#include <memory>
#include <utility>

#include "calls.h"
#include "common/device.h"
#include "common/graph/capture.h"
#include "common/shared_event.h"

namespace openreg {

template <class Driver>
struct EventCalls {
  using Given = openreg::Given<Driver>;

  static void eventCreateWithFlags(orEvent_t* event, unsigned int flags, int index) {
    const bool interprocess = (flags & orEventInterprocess) != 0;
    create(event, index, (flags & orEventDisableTiming) == 0, interprocess ? SharedEvent::create() : nullptr);
  }

  static void create(orEvent_t* event, int index, bool timed, std::shared_ptr<SharedEvent> shared) {
    auto& owner = Given::usedDevice(index);
    auto* it = Given::all().events.acquire();
    if (it == nullptr) {
      throw Refused{
          orDriverError(orErrorMemoryAllocation, "there are too many events; expected some to be destroyed first")};
    }
    *event = handleOf<orEvent_t>(it->open(owner, timed, std::move(shared)));
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
    if (const auto shared = it.shared()) {
      Given::all().captures.refuse(on, kOfOneProcess);
      recordShared(shared, on, number(stream));
    } else if (!recordCaptured(it, number(event), on)) {
      it.record(number(event), on, number(stream));
    }
  }

  static orError_t eventQuery(orEvent_t event) {
    auto& it = Given::event(event);
    refuseCaptured(it);
    const auto shared = it.shared();
    const bool complete = shared != nullptr ? shared->isComplete(shared->latest())
                                            : it.latest().poll(); // Before the failure, which the work may bring.
    require(it.device().surface());
    return complete ? orSuccess : orErrorNotReady;
  }

  static orError_t eventSynchronize(orEvent_t event) {
    auto& it = Given::event(event);
    auto& device = it.device();
    require(device.failure.check());
    refuseCaptured(it);
    if (const auto shared = it.shared()) {
      shared->wait(shared->latest(), hasFailed, static_cast<DeviceBase*>(&device));
    } else {
      it.latest().wait();
    }
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
    if constexpr (requires { last.millisecondsSince(first); }) {
      *milliseconds = last.millisecondsSince(first); // The hardware's clock tells distances alone.
      return orSuccess;
    }
    first.readTime(from);
    last.readTime(to);
    *milliseconds = static_cast<float>(static_cast<double>(to.ns - from.ns) / 1e6);
    return orSuccess;
  }

  /// A stream is to wait for an event, and one of the two captures, or did: true if that is all there is to do.
  static bool waitCaptured(auto& stream, uint64_t handle, auto& event) {
    const auto point = event.captured();
    if (point == nullptr && !stream.captures()) [[likely]] {
      return false;
    }
    return Given::all().captures.wait(stream, handle, stream.device().index, point, event.stamp().recorded);
  }

  /// Work of a stream that is submitted later waits for the latest version of an interprocess event.
  static void queueWaitShared(std::shared_ptr<SharedEvent> shared, auto& stream, uint64_t handle) {
    const uint64_t version = shared->latest();
    if (!shared->isComplete(version)) {
      queueShared(Shared{std::move(shared), version, &stream.device()}, stream, handle, [](void* data) {
        const std::unique_ptr<Shared> it(static_cast<Shared*>(data));
        it->event->wait(it->version, hasFailed, it->device);
      });
    }
  }

 private:
  /// True if the stream captures, and the event stands for a point of that now.
  static bool recordCaptured(auto& event, uint64_t handle, auto& stream) {
    auto point = stream.captures() ? Given::all().captures.point(stream) : nullptr;
    if (point == nullptr && event.captured() == nullptr) [[likely]] {
      return false;
    }
    const bool is = point != nullptr;
    event.setCaptured(handle, std::move(point));
    return is;
  }

  static void refuseCaptured(auto& event) {
    if (const auto point = event.captured()) [[unlikely]] {
      Given::all().captures.refuse(point->capture, kNotExecuted);
    }
  }

  /// A version of an interprocess event, for a function of the host in a stream of `device`.
  struct Shared {
    std::shared_ptr<SharedEvent> event;
    uint64_t version;
    DeviceBase* device;
  };

  static bool hasFailed(void* device) { return static_cast<DeviceBase*>(device)->failure.exists(); }

  static void queueShared(Shared shared, auto& stream, uint64_t handle, orHostFn_t function) {
    auto data = std::make_unique<Shared>(std::move(shared));
    stream.queueHostFunction(handle, function, data.get(), /*always=*/true);
    (void)data.release();
  }

  /// Who waits may be in another process, and knows nothing of our streams: a function of the host tells it.
  static void recordShared(const std::shared_ptr<SharedEvent>& shared, auto& stream, uint64_t handle) {
    const uint64_t version = shared->record();
    try {
      queueShared(Shared{shared, version, nullptr}, stream, handle, [](void* data) {
        const std::unique_ptr<Shared> it(static_cast<Shared*>(data));
        it->event->complete(it->version);
      });
    } catch (...) {
      shared->complete(version); // It has begun, and nobody else would end it.
      throw;
    }
  }

  /// An event that can have a time.
  static auto& timed(orEvent_t event, const char* argument) {
    auto& it = Given::event(event, argument);
    refuseCaptured(it);
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
