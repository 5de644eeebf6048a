// Calls about streams.
#include "calls.h"
#include "host_function.h"
#include "lookup.h"
#include "openreg_driver.h"

namespace openreg::process {

namespace {

orError_t give(orStream_t* stream, uint64_t handle, const Device& device) {
  if (handle == 0) {
    return orDriverError(
        orErrorMemoryAllocation, "device %d has too many streams; expected some to be destroyed first", device.index);
  }
  *stream = handleOf<orStream_t>(handle);
  return orSuccess;
}

} // namespace

orError_t deviceGetStreamPriorityRange(int* least, int* greatest, int) {
  *least = 0;
  *greatest = -1;
  return orSuccess;
}

orError_t streamGetDefault(orStream_t* stream, int index) {
  Device& device = host().device(index);
  const orError_t error = device.use();
  return error != orSuccess ? error : give(stream, device.defaultStream(), device);
}

orError_t streamCreateWithPriority(orStream_t* stream, unsigned int, int priority, int index) {
  Device& device = host().device(index);
  const orError_t error = device.use();
  return error != orSuccess ? error : give(stream, device.createStream(priority), device);
}

orError_t streamDestroy(orStream_t stream) {
  Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  if (deviceOf(*it).isDefault(number(stream))) {
    return orDriverError(
        orErrorInvalidHandle, "argument 'stream' is the default stream of device %d; expected one from orStreamCreate",
        deviceOf(*it).index);
  }
  return deviceOf(*it).destroyStream(*it, number(stream)) ? orSuccess : invalid(stream);
}

orError_t streamGetPriority(orStream_t stream, int* priority) {
  const Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  *priority = it->priority.load();
  return orSuccess;
}

orError_t streamGetDevice(orStream_t stream, int* device) {
  const Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  *device = deviceOf(*it).index;
  return orSuccess;
}

orError_t streamQuery(orStream_t stream) {
  Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  Point end;
  if (const orError_t error = deviceOf(*it).mark(*it, number(stream), end)) {
    return error;
  }
  const bool idle = end.reached(); // Before the failure: the last piece of work may be what fails.
  if (const orError_t error = deviceOf(*it).surface()) {
    return error;
  }
  return idle ? orSuccess : orErrorNotReady;
}

orError_t streamSynchronize(orStream_t stream) {
  Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  Device& device = deviceOf(*it);
  if (const orError_t error = device.failure.check()) {
    return error;
  }
  Point end;
  if (const orError_t error = device.mark(*it, number(stream), end)) {
    return error;
  }
  device.wait(end);
  return device.surface();
}

orError_t streamWaitEvent(orStream_t stream, orEvent_t event, unsigned int) {
  Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  Event* awaited = find(event);
  if (awaited == nullptr) {
    return invalid(event);
  }
  Device& device = deviceOf(*it);
  if (const orError_t error = device.use()) {
    return error;
  }
  const Point point = awaited->latest().point;
  if (point.reached() || (point.device == &device && point.lane == it->lane.load())) {
    return orSuccess; // What is complete stays so, and a stream is in order anyway.
  }
  const WaitFrame frame{
      .ofDevice = point.device->index, .ofStream = point.lane, .kind = FenceKind::Device, .value = point.value};
  return device.submit(*it, number(stream), Kind::Wait, frame);
}

orError_t launchHostFunc(orStream_t stream, orHostFn_t function, void* userData) {
  Stream* it = find(stream);
  if (it == nullptr) {
    return invalid(stream);
  }
  if (const orError_t error = deviceOf(*it).use()) {
    return error;
  }
  return queueHostFunction(*it, number(stream), function, userData);
}

} // namespace openreg::process
