// From PyTorch's stream to the driver's: the default stream, or one of the pool.
#include "stream/handle.h"

#include "device/device.h"
#include "device/device_name.h"
#include "device/error.h"
#include "stream/pool.h"

#include <c10/util/Exception.h>

namespace openreg {

// LITERALINCLUDE START: STREAM HANDLE
orStream_t streamHandle(const c10::Stream& stream) {
  const auto device = resolveIndex(stream.device());
  orStream_t handle = nullptr;
  if (stream.id() == 0) {
    check(orStreamGetDefault(&handle, device));
  } else {
    TORCH_CHECK(
        !isFromBeforeReset(device, stream.id()), kDeviceName, ": stream ", stream.id(), " of device ", stream.device(),
        " is from before reset_device(", static_cast<int>(device), "); expected one that was made after it");
    handle = findStream(device, stream.id());
  }
  TORCH_CHECK(
      handle != nullptr, kDeviceName, ": device ", stream.device(), " has no stream ", stream.id(),
      "; expected 0, its default stream, or the number of a stream that torch.Stream has made");
  return handle;
}
// LITERALINCLUDE END: STREAM HANDLE

} // namespace openreg
