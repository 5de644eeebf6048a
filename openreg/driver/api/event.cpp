// Events.
#include "activity.h"

using openreg::api::Entry;
using openreg::api::RecordedEntry;
using openreg::api::thread;

namespace {
orError_t create(Entry& entry, orEvent_t* event, unsigned int flags) {
  entry.notNull(event != nullptr, "event", "where to put the handle");
  const bool known = flags == orEventDefault || flags == orEventDisableTiming ||
                     flags == (unsigned{orEventDisableTiming} | orEventInterprocess);
  entry.require(
      known, orErrorInvalidValue,
      "argument 'flags' is 0x%x; expected orEventDefault, orEventDisableTiming, or that with orEventInterprocess",
      flags);
  entry.currentDevice();
  return entry.call("orEventCreateWithFlags", &OrDriver::EventCreateWithFlags, event, flags, thread.device);
}
} // namespace

orError_t orEventCreate(orEvent_t* event) {
  Entry entry("orEventCreate");
  return create(entry, event, orEventDefault);
}

orError_t orEventCreateWithFlags(orEvent_t* event, unsigned int flags) {
  Entry entry("orEventCreateWithFlags");
  return create(entry, event, flags);
}

orError_t orEventDestroy(orEvent_t event) {
  return openreg::api::release("orEventDestroy", &OrDriver::EventDestroy, event);
}

orError_t orEventRecord(orEvent_t event, orStream_t stream) {
  RecordedEntry entry("orEventRecord");
  return entry.call(&OrDriver::EventRecord, event, stream);
}

orError_t orEventQuery(orEvent_t event) {
  Entry entry("orEventQuery");
  return entry.call(&OrDriver::EventQuery, event);
}

orError_t orEventSynchronize(orEvent_t event) {
  RecordedEntry entry("orEventSynchronize");
  return entry.call(&OrDriver::EventSynchronize, event);
}

orError_t orEventElapsedTime(float* milliseconds, orEvent_t start, orEvent_t end) {
  Entry entry("orEventElapsedTime");
  entry.notNull(milliseconds != nullptr, "milliseconds", "where to put the time");
  return entry.call(&OrDriver::EventElapsedTime, milliseconds, start, end);
}

orError_t orIpcGetEventHandle(orIpcEventHandle* handle, orEvent_t event) {
  Entry entry("orIpcGetEventHandle");
  entry.notNull(handle != nullptr, "handle", "where to put the handle");
  return entry.call(&OrDriver::IpcGetEventHandle, handle, event);
}

orError_t orIpcOpenEventHandle(orEvent_t* event, const orIpcEventHandle* handle) {
  Entry entry("orIpcOpenEventHandle");
  entry.notNull(event != nullptr, "event", "where to put the handle");
  entry.notNull(handle != nullptr, "handle", "a handle").currentDevice();
  return entry.call(&OrDriver::IpcOpenEventHandle, event, handle, thread.device);
}
