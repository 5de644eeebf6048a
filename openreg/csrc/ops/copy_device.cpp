// Copies that never leave the device.
#include "ops/copy_device.h"

#include "device/error.h"
#include "ops/copy_kernel.h"
#include "stream/event.h"
#include "stream/handle.h"

namespace openreg {

// LITERALINCLUDE START: COPY ON DEVICE
bool copyOnDevice(const at::Tensor& src, const at::Tensor& dst) {
  if (src.sizes() == dst.sizes() && src.strides() == dst.strides() && dst.is_non_overlapping_and_dense()) {
    const auto stream = currentStreamHandle(dst.device().index());
    check(orMemcpyAsync(dst.mutable_data_ptr(), src.const_data_ptr(), dst.nbytes(), orMemcpyDeviceToDevice, stream));
    return true;
  }
  return hasCopyKernel(dst.device().index()) && launchCopy(src, dst);
}
// LITERALINCLUDE END: COPY ON DEVICE

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
