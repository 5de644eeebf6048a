// Copies within a device, as far as moving bytes goes.
#include "ops/copy/copy.h"

#include "device/error.h"
#include "stream/handle.h"

namespace openreg {

// LITERALINCLUDE START: COPY ON DEVICE BYTES
bool canCopyOnDevice(const at::Tensor& src, const at::Tensor& dst) {
  // A cast takes a kernel that computes.
  return sameBytes(src, dst) || (sameBits(src, dst) && hasCopyKernel(dst.device().index()));
}

void copyOnDevice(const at::Tensor& src, const at::Tensor& dst) {
  if (!sameBytes(src, dst)) {
    return launchCopy(src, dst);
  }
  const auto stream = currentStreamHandle(dst.device().index());
  check(orMemcpyAsync(dst.mutable_data_ptr(), src.const_data_ptr(), dst.nbytes(), orMemcpyDeviceToDevice, stream));
}
// LITERALINCLUDE END: COPY ON DEVICE BYTES

} // namespace openreg
