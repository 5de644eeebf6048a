// Copies from one device to another.
#include "ops/copy_device.h"

#include "device/error.h"
#include "stream/event.h"
#include "stream/handle.h"

namespace openreg {

// LITERALINCLUDE START: COPY ACROSS DEVICES
void copyAcrossDevices(const at::Tensor& src, const at::Tensor& dst) {
  const auto from = src.device().index();
  const auto to = dst.device().index();
  const auto fromStream = currentStreamHandle(from);
  const auto toStream = currentStreamHandle(to);
  // One stream does the copy, the source's. It has to wait for those who still use dst on the other device, and the
  // other device's later work has to wait for it.
  const Event dstIsFree(to);
  dstIsFree.record(toStream);
  dstIsFree.block(fromStream);
  check(orMemcpyPeerAsync(dst.mutable_data_ptr(), to, src.const_data_ptr(), from, dst.nbytes(), fromStream));
  const Event copied(from);
  copied.record(fromStream);
  copied.block(toStream);
}
// LITERALINCLUDE END: COPY ACROSS DEVICES

} // namespace openreg
