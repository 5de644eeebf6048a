// Tensors to the host and back, whatever their strides.
#include "ops/copy_host.h"

#include "device/error.h"
#include "ops/copy_device.h"
#include "ops/copy_kernel.h"
#include "stream/handle.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>

namespace openreg {
namespace {

size_t spanBytes(const at::Tensor& tensor) {
  return at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.dtype().itemsize());
}

// LITERALINCLUDE START: COPY HOST
// A CPU tensor laid out like `tensor`, gaps and overlaps included, so that its bytes are the device's bytes.
at::Tensor hostLike(const at::Tensor& tensor) {
  auto host = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU));
  // Lazy conjugation and negation are bits of the tensor, not of its memory: who reads the bytes must have them too.
  host._set_conj(tensor.is_conj());
  host._set_neg(tensor.is_neg());
  return host;
}

} // namespace

at::Tensor toHost(const at::Tensor& self) {
  auto host = hostLike(self);
  check(orMemcpyWithStream(
      host.mutable_data_ptr(), self.const_data_ptr(), spanBytes(self), orMemcpyDeviceToHost,
      currentStreamHandle(self.device().index())));
  return host;
}

void fromHost(const at::Tensor& src, const at::Tensor& dst) {
  // With gaps between its elements the span holds values of others, which have to come back unchanged.
  auto host = dst.is_non_overlapping_and_dense() ? hostLike(dst) : toHost(dst);
  host.copy_(src); // the CPU casts, broadcasts and resolves the bits
  check(orMemcpyWithStream(
      dst.mutable_data_ptr(), host.const_data_ptr(), spanBytes(dst), orMemcpyHostToDevice,
      currentStreamHandle(dst.device().index())));
}
// LITERALINCLUDE END: COPY HOST

// LITERALINCLUDE START: COPY INTO HOST
void intoHost(const at::Tensor& src, const at::Tensor& dst) {
  // One element out of a large matrix should not bring the matrix along: gather on the device if it can.
  if (!src.is_non_overlapping_and_dense() && hasCopyKernel(src.device().index())) {
    auto dense = at::empty_like(src, at::MemoryFormat::Contiguous);
    dense._set_conj(src.is_conj());
    dense._set_neg(src.is_neg());
    if (copyOnDevice(src, dense)) {
      dst.copy_(toHost(dense));
      return;
    }
  }
  dst.copy_(toHost(src));
}
// LITERALINCLUDE END: COPY INTO HOST

} // namespace openreg
