// Which stream each thread uses on each device.
#include "stream/current_stream.h"

#include "device/reset.h"
#include "stream/handle.h"
#include "stream/pool.h"

#include <array>
#include <utility>

namespace openreg {
namespace {

// LITERALINCLUDE START: CURRENT STREAM
// Each thread has its own current stream of each device. Beside the stream's number stands the driver's handle, because
// every launch asks for it: finding it has to cost a few nanoseconds.
struct Current {
  c10::StreamId id = 0;        // 0 is the default stream
  orStream_t handle = nullptr; // null: not asked for yet
  uint64_t life = 0;           // of the device, when the stream was made current
};

// Constant to begin with and without a destructor: nothing has to run when a thread starts or ends.
constinit thread_local std::array<Current, kMaxDevices> current{};

c10::Stream makeStream(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, {kDeviceType, device}, id);
}

// A reset ends all streams. The default stream is there again, and is every thread's current one as in the beginning.
Current& currentOf(c10::DeviceIndex device) {
  auto& it = current[device];
  if (const auto life = lifeOf(device); C10_UNLIKELY(it.life != life)) {
    it = {0, nullptr, life};
  }
  return it;
}

} // namespace

c10::Stream currentStream(c10::DeviceIndex device) {
  return makeStream(device, currentOf(device).id);
}

c10::Stream defaultStream(c10::DeviceIndex device) {
  return makeStream(device, 0);
}

orStream_t currentStreamHandle(c10::DeviceIndex device) {
  auto& it = currentOf(device);
  if (C10_UNLIKELY(it.handle == nullptr)) {
    it.handle = streamHandle(makeStream(device, it.id));
  }
  return it.handle;
}

c10::Stream exchangeCurrentStream(c10::Stream stream) {
  const auto device = resolveIndex(stream.device());
  auto& it = currentOf(device);
  // A number that means nothing fails here and not in some operator later. The default stream always exists, and asking
  // for its handle would start the device. A stream from before a reset does fail later: guards put back what was
  // current in their destructors, which must not throw.
  const bool later = stream.id() == 0 || isFromBeforeReset(device, stream.id());
  auto* const handle = later ? nullptr : streamHandle(stream);
  return makeStream(device, std::exchange(it, {stream.id(), handle, it.life}).id);
}
// LITERALINCLUDE END: CURRENT STREAM

} // namespace openreg
