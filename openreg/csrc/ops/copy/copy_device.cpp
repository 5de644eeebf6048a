// Copies from one device to another.
#include "ops/copy/copy_device.h"

#include "device/error.h"
#include "ops/copy/copy_host.h"
#include "ops/copy/copy_kernel.h"
#include "stream/event.h"
#include "stream/handle.h"

namespace openreg {

// LITERALINCLUDE START: COPY ACROSS DEVICES
bool canCopyAcrossDevices(const at::Tensor& src, const at::Tensor& dst) {
  return (src.is_non_overlapping_and_dense() || hasCopyKernel(src.device().index())) && canCopyOnDevice(src, dst);
}

void copyAcrossDevices(const at::Tensor& src, const at::Tensor& dst) {
  if (!sameBytes(src, dst)) {
    // Dense bytes travel. Each device does what concerns the strides, and the types, of its own tensor.
    const auto leaving = src.is_non_overlapping_and_dense() ? src : emptyDense(src, src.options());
    if (!leaving.is_same(src)) {
      copyOnDevice(src, leaving);
    }
    const auto arrived = emptyDense(leaving, leaving.options().device(dst.device()));
    copyAcrossDevices(leaving, arrived);
    return copyOnDevice(arrived, dst);
  }
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
