// Calls about streams.
#pragma once

#include <algorithm>

#include "calls.h"

namespace openreg {

/// Priorities are kept and reported. They change nothing here: the host's scheduler decides which worker runs.
constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -1;

template <class Driver>
struct StreamCalls : Calls<Driver> {
  using typename Calls<Driver>::Device;
  using typename Calls<Driver>::Stream;
  using typename Calls<Driver>::Event;
  using Calls<Driver>::device;
  using Calls<Driver>::find;
  using Calls<Driver>::invalid;

  static orError_t deviceGetStreamPriorityRange(int* least, int* greatest, int) {
    *least = kLeastPriority;
    *greatest = kGreatestPriority;
    return orSuccess;
  }

  static orError_t streamGetDefault(orStream_t* stream, int index) {
    Device& it = device(index);
    const orError_t error = it.use();
    return error != orSuccess ? error : give(stream, it.defaultStream(), it);
  }

  static orError_t streamCreateWithPriority(orStream_t* stream, unsigned int, int priority, int index) {
    Device& it = device(index);
    if (const orError_t error = it.use()) {
      return error;
    }
    return give(stream, it.createStream(std::clamp(priority, kGreatestPriority, kLeastPriority)), it);
  }

  static orError_t streamDestroy(orStream_t stream) {
    Stream* it = find(stream);
    if (it == nullptr) {
      return invalid(stream);
    }
    if (it->device().isDefault(number(stream))) {
      return orDriverError(
          orErrorInvalidHandle,
          "argument 'stream' is the default stream of device %d; expected one from orStreamCreate", it->device().index);
    }
    return it->close(number(stream)) ? orSuccess : invalid(stream);
  }

  static orError_t streamGetPriority(orStream_t stream, int* priority) {
    const Stream* it = find(stream);
    if (it == nullptr) {
      return invalid(stream);
    }
    *priority = it->priority();
    return orSuccess;
  }

  static orError_t streamGetDevice(orStream_t stream, int* device) {
    const Stream* it = find(stream);
    if (it == nullptr) {
      return invalid(stream);
    }
    *device = it->device().index;
    return orSuccess;
  }

  static orError_t streamQuery(orStream_t stream) {
    Stream* it = find(stream);
    if (it == nullptr) {
      return invalid(stream);
    }
    bool idle = false; // Asked before the failure: the last piece of work may be what fails.
    if (const orError_t error = it->poll(number(stream), idle)) {
      return error;
    }
    if (const orError_t error = it->device().surface()) {
      return error;
    }
    return idle ? orSuccess : orErrorNotReady;
  }

  static orError_t streamSynchronize(orStream_t stream) {
    Stream* it = find(stream);
    if (it == nullptr) {
      return invalid(stream);
    }
    Device& device = it->device();
    if (const orError_t error = device.failure.check()) {
      return error;
    }
    if (const orError_t error = it->synchronize(number(stream))) {
      return error;
    }
    return device.surface();
  }

  static orError_t streamWaitEvent(orStream_t stream, orEvent_t event, unsigned int) {
    Stream* it = find(stream);
    if (it == nullptr) {
      return invalid(stream);
    }
    Event* awaited = find(event);
    if (awaited == nullptr) {
      return invalid(event);
    }
    if (const orError_t error = it->device().use()) {
      return error;
    }
    return it->queueWait(number(stream), *awaited);
  }

  static orError_t launchHostFunc(orStream_t stream, orHostFn_t function, void* userData) {
    Stream* it = find(stream);
    if (it == nullptr) {
      return invalid(stream);
    }
    if (const orError_t error = it->device().use()) {
      return error;
    }
    return it->queueHostFunction(number(stream), function, userData);
  }

 private:
  static orError_t give(orStream_t* stream, uint64_t handle, const Device& device) {
    *stream = handleOf<orStream_t>(handle);
    return handle != 0 ? orSuccess
                       : orDriverError(
                             orErrorMemoryAllocation,
                             "device %d has too many streams; expected some to be destroyed first", device.index);
  }
};

} // namespace openreg
