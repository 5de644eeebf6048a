// Copies and fills. Those without a stream argument are made of those with one.
#include "activity.h"

using openreg::api::Entry;
using openreg::api::RecordedEntry;
using openreg::api::thread;

namespace {

void checkCopy(Entry& entry, const void* dst, const void* src, size_t size, orMemcpyKind kind) {
  entry.notNull(dst != nullptr || size == 0, "dst", "memory, as 'size' is not 0");
  entry.notNull(src != nullptr || size == 0, "src", "memory, as 'size' is not 0");
  entry.require(
      kind >= orMemcpyHostToHost && kind <= orMemcpyDefault, orErrorInvalidValue,
      "argument 'kind' is %d; expected an orMemcpyKind", static_cast<int>(kind));
}

orStream_t defaultStream(Entry& entry, int device) {
  orStream_t stream = nullptr;
  entry.call("orStreamGetDefault", &OrDriver::StreamGetDefault, &stream, device);
  return stream;
}

} // namespace

orError_t orMemcpy(void* dst, const void* src, size_t size, orMemcpyKind kind) {
  RecordedEntry entry("orMemcpy");
  checkCopy(entry, dst, src, size, kind);
  entry.currentDevice();
  const orStream_t stream = defaultStream(entry, thread.device);
  return entry.call("orMemcpyWithStream", &OrDriver::MemcpyWithStream, dst, src, size, kind, stream);
}

orError_t orMemcpyWithStream(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream) {
  RecordedEntry entry("orMemcpyWithStream");
  checkCopy(entry, dst, src, size, kind);
  return entry.call(&OrDriver::MemcpyWithStream, dst, src, size, kind, stream);
}

orError_t orMemcpyAsync(void* dst, const void* src, size_t size, orMemcpyKind kind, orStream_t stream) {
  RecordedEntry entry("orMemcpyAsync");
  checkCopy(entry, dst, src, size, kind);
  return entry.queue(stream, &OrDriver::MemcpyAsync, dst, src, size, kind, stream);
}

orError_t orMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice, size_t size) {
  RecordedEntry entry("orMemcpyPeer");
  checkCopy(entry, dst, src, size, orMemcpyDeviceToDevice);
  entry.device(dstDevice, "dstDevice").device(srcDevice, "srcDevice");
  const orStream_t stream = defaultStream(entry, dstDevice);
  entry.call("orMemcpyPeerAsync", &OrDriver::MemcpyPeerAsync, dst, dstDevice, src, srcDevice, size, stream);
  return entry.call("orStreamSynchronize", &OrDriver::StreamSynchronize, stream);
}

orError_t orMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t size, orStream_t stream) {
  RecordedEntry entry("orMemcpyPeerAsync");
  checkCopy(entry, dst, src, size, orMemcpyDeviceToDevice);
  entry.device(dstDevice, "dstDevice").device(srcDevice, "srcDevice");
  return entry.queue(stream, &OrDriver::MemcpyPeerAsync, dst, dstDevice, src, srcDevice, size, stream);
}

orError_t orMemset(void* ptr, int value, size_t size) {
  RecordedEntry entry("orMemset");
  entry.notNull(ptr != nullptr || size == 0, "ptr", "device memory, as 'size' is not 0");
  orPointerAttributes attributes{};
  entry.call("orPointerGetAttributes", &OrDriver::PointerGetAttributes, &attributes, ptr);
  const bool onDevice = attributes.type == orMemoryTypeDevice;
  entry.require(
      onDevice || size == 0, orErrorInvalidValue,
      "argument 'ptr' is %p, which is not device memory; expected device memory", ptr);
  entry.currentDevice();
  const orStream_t stream = defaultStream(entry, onDevice ? attributes.device : thread.device);
  entry.call("orMemsetAsync", &OrDriver::MemsetAsync, ptr, value, size, stream);
  return entry.call("orStreamSynchronize", &OrDriver::StreamSynchronize, stream);
}

orError_t orMemsetAsync(void* ptr, int value, size_t size, orStream_t stream) {
  RecordedEntry entry("orMemsetAsync");
  entry.notNull(ptr != nullptr || size == 0, "ptr", "device memory, as 'size' is not 0");
  return entry.queue(stream, &OrDriver::MemsetAsync, ptr, value, size, stream);
}
