// Copies between the host and a device, which return when the driver lets them.
#include "ops/copy/copy.h"

#include "device/error.h"
#include "stream/handle.h"

#include <ATen/core/Tensor.h>

namespace openreg {

// LITERALINCLUDE START: HOST TO DEVICE BYTES
void copyHostToDevice(const at::Tensor& src, const at::Tensor& dst, bool nonBlocking) {
  if (!sameBytes(src, dst)) {
    // What travels are dense bytes of dst's type: the CPU casts, broadcasts and resolves the bits.
    const auto dense = emptyDense(dst, dst.options().device(at::kCPU)).copy_(src);
    if (sameBytes(dense, dst)) {
      return copyHostToDevice(dense, dst, nonBlocking);
    }
    if (!canCopyOnDevice(dense, dst)) {
      return copyRuns(dense, dst);
    }
    // Between dst's elements lies what belongs to others. The device writes its own, and nobody reads the others.
    const auto arrived = emptyDense(dense, dst.options());
    copyHostToDevice(dense, arrived, nonBlocking);
    return copyOnDevice(arrived, dst);
  }
  const auto stream = currentStreamHandle(dst.device().index());
  // The driver decides whether the host memory lets it return early: pinned memory does, pageable memory does not.
  check((nonBlocking ? orMemcpyAsync : orMemcpyWithStream)(
      dst.mutable_data_ptr(), src.const_data_ptr(), dst.nbytes(), orMemcpyHostToDevice, stream));
}
// LITERALINCLUDE END: HOST TO DEVICE BYTES

// LITERALINCLUDE START: DEVICE TO HOST BYTES
void copyDeviceToHost(const at::Tensor& src, const at::Tensor& dst, bool nonBlocking) {
  if (!sameBytes(src, dst)) {
    return intoHost(src, dst);
  }
  const auto stream = currentStreamHandle(src.device().index());
  check((nonBlocking ? orMemcpyAsync : orMemcpyWithStream)(
      dst.mutable_data_ptr(), src.const_data_ptr(), dst.nbytes(), orMemcpyDeviceToHost, stream));
}
// LITERALINCLUDE END: DEVICE TO HOST BYTES

} // namespace openreg
