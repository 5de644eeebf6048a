// Which stream each thread uses on each device.
#include "stream/current_stream.h"

#include "device/device.h"
#include "stream/handle.h"

#include <array>
#include <limits>
#include <utility>

namespace openreg {
namespace {

// LITERALINCLUDE START: CURRENT STREAM
// Each thread has its own current stream of each device. Beside the stream's number stands the driver's handle, because
// every launch asks for it: finding it has to cost a few nanoseconds.
struct Current {
  c10::StreamId id = 0;        // 0 is the default stream
  orStream_t handle = nullptr; // null: not asked for yet
};

constexpr size_t kMaxDevices = std::numeric_limits<c10::DeviceIndex>::max() + 1;
// Constant to begin with and without a destructor: nothing has to run when a thread starts or ends.
constinit thread_local std::array<Current, kMaxDevices> current{};

c10::Stream makeStream(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, {kDeviceType, device}, id);
}

} // namespace

c10::Stream currentStream(c10::DeviceIndex device) {
  return makeStream(device, current[device].id);
}

c10::Stream defaultStream(c10::DeviceIndex device) {
  return makeStream(device, 0);
}

orStream_t currentStreamHandle(c10::DeviceIndex device) {
  auto& [id, handle] = current[device];
  if (C10_UNLIKELY(handle == nullptr)) {
    handle = streamHandle(makeStream(device, id));
  }
  return handle;
}

c10::Stream exchangeCurrentStream(c10::Stream stream) {
  const auto device = resolveIndex(stream.device());
  // A number that means nothing fails here and not in some operator later. The default stream always exists, and asking
  // for its handle would start the device.
  auto* const handle = stream.id() == 0 ? nullptr : streamHandle(stream);
  return makeStream(device, std::exchange(current[device], {stream.id(), handle}).id);
}
// LITERALINCLUDE END: CURRENT STREAM

} // namespace openreg
