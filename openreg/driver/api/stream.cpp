// Streams.
#include "activity.h"

using openreg::api::Entry;
using openreg::api::RecordedEntry;
using openreg::api::thread;

namespace {
constexpr char kHandle[] = "where to put the handle";

orError_t create(Entry& entry, orStream_t* stream, unsigned int flags, int priority) {
  entry.notNull(stream != nullptr, "stream", kHandle);
  entry.require(
      flags == orStreamDefault, orErrorInvalidValue, "argument 'flags' is 0x%x; expected orStreamDefault", flags);
  entry.currentDevice();
  return entry.call(
      "orStreamCreateWithPriority", &OrDriver::StreamCreateWithPriority, stream, flags, priority, thread.device);
}
} // namespace

orError_t orDeviceGetStreamPriorityRange(int* least, int* greatest, int device) {
  Entry entry("orDeviceGetStreamPriorityRange");
  entry.notNull(least != nullptr, "least", "where to put the lowest priority");
  entry.notNull(greatest != nullptr, "greatest", "where to put the highest priority");
  entry.device(device);
  return entry.call(&OrDriver::DeviceGetStreamPriorityRange, least, greatest, device);
}

orError_t orStreamGetDefault(orStream_t* stream, int device) {
  Entry entry("orStreamGetDefault");
  entry.notNull(stream != nullptr, "stream", kHandle).device(device);
  return entry.call(&OrDriver::StreamGetDefault, stream, device);
}

orError_t orStreamCreate(orStream_t* stream) {
  Entry entry("orStreamCreate");
  int least = 0;
  int greatest = 0;
  // Asked with its arguments known to be good, so that a wrong argument is what gets reported.
  entry.notNull(stream != nullptr, "stream", kHandle).currentDevice();
  entry.call(
      "orDeviceGetStreamPriorityRange", &OrDriver::DeviceGetStreamPriorityRange, &least, &greatest, thread.device);
  return create(entry, stream, orStreamDefault, least);
}

orError_t orStreamCreateWithPriority(orStream_t* stream, unsigned int flags, int priority) {
  Entry entry("orStreamCreateWithPriority");
  return create(entry, stream, flags, priority);
}

orError_t orStreamDestroy(orStream_t stream) {
  return openreg::api::release("orStreamDestroy", &OrDriver::StreamDestroy, stream);
}

orError_t orStreamGetPriority(orStream_t stream, int* priority) {
  Entry entry("orStreamGetPriority");
  entry.notNull(priority != nullptr, "priority", "where to put the priority");
  return entry.call(&OrDriver::StreamGetPriority, stream, priority);
}

orError_t orStreamGetDevice(orStream_t stream, int* device) {
  Entry entry("orStreamGetDevice");
  entry.notNull(device != nullptr, "device", "where to put the index");
  return entry.call(&OrDriver::StreamGetDevice, stream, device);
}

orError_t orStreamQuery(orStream_t stream) {
  Entry entry("orStreamQuery");
  return entry.call(&OrDriver::StreamQuery, stream);
}

orError_t orStreamSynchronize(orStream_t stream) {
  RecordedEntry entry("orStreamSynchronize");
  return entry.call(&OrDriver::StreamSynchronize, stream);
}

orError_t orStreamWaitEvent(orStream_t stream, orEvent_t event, unsigned int flags) {
  RecordedEntry entry("orStreamWaitEvent");
  entry.require(flags == 0, orErrorInvalidValue, "argument 'flags' is 0x%x; expected 0", flags);
  return entry.call(&OrDriver::StreamWaitEvent, stream, event, flags);
}

orError_t orLaunchHostFunc(orStream_t stream, orHostFn_t function, void* userData) {
  RecordedEntry entry("orLaunchHostFunc");
  entry.notNull(function != nullptr, "function", "a function of the host");
  return entry.call(&OrDriver::LaunchHostFunc, stream, function, userData);
}
