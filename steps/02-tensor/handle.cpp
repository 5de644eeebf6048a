// From PyTorch's stream to the driver's. Each device has one stream so far, the default stream.
#include "stream/handle.h"

#include "device/device_name.h"
#include "device/error.h"
#include "stream/current_stream.h"

#include <c10/util/Exception.h>

namespace openreg {

// LITERALINCLUDE START: STREAM HANDLE
orStream_t streamHandle(const c10::Stream& stream) {
  TORCH_CHECK(
      stream.id() == 0, kDeviceName, ": device ", stream.device(), " has no stream ", stream.id(),
      "; expected 0, its default stream");
  orStream_t handle = nullptr;
  check(orStreamGetDefault(&handle, stream.device_index()));
  return handle;
}

orStream_t currentStreamHandle(c10::DeviceIndex device) {
  return streamHandle(currentStream(device));
}
// LITERALINCLUDE END: STREAM HANDLE

} // namespace openreg
