// Which stream each thread uses on each device.
#include "stream/current_stream.h"

#include "device/device.h"

#include <array>
#include <utility>

namespace openreg {
namespace {

// LITERALINCLUDE START: CURRENT STREAM
// Like the current device, the current stream is each thread's own: the threads of the autograd engine switch it
// without disturbing anybody. A stream is known by a number on its device; 0, the initial value, is the default stream.
thread_local std::array<c10::StreamId, kMaxDevices> current{};

c10::Stream makeStream(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, {kDeviceType, device}, id);
}

} // namespace

c10::Stream currentStream(c10::DeviceIndex device) {
  return makeStream(device, current[device]);
}

c10::Stream defaultStream(c10::DeviceIndex device) {
  return makeStream(device, 0);
}

c10::Stream exchangeCurrentStream(c10::Stream stream) {
  const auto device = resolveIndex(stream.device());
  return makeStream(device, std::exchange(current[device], stream.id()));
}
// LITERALINCLUDE END: CURRENT STREAM

} // namespace openreg
