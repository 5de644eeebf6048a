// Tensors to the host and back, whatever their strides.
#include "ops/copy/copy_host.h"

#include "device/error.h"
#include "ops/copy/copy_kernel.h"
#include "stream/handle.h"

#include <ATen/EmptyTensor.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>

namespace openreg {

// LITERALINCLUDE START: EMPTY DENSE
at::Tensor emptyDense(const at::Tensor& like, const at::TensorOptions& options) {
  auto made = at::empty_like(like, options);
  // Lazy conjugation and negation are bits of the tensor, not of its memory: who reads the bytes must have them too.
  made._set_conj(like.is_conj());
  made._set_neg(like.is_neg());
  return made;
}
// LITERALINCLUDE END: EMPTY DENSE

namespace {

size_t spanBytes(const at::Tensor& tensor) {
  return at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.dtype().itemsize());
}

} // namespace

// LITERALINCLUDE START: COPY TO HOST
at::Tensor toHost(const at::Tensor& self) {
  // Laid out like `self`, gaps and overlaps included, so that its bytes are the device's bytes.
  auto host = at::empty_strided(self.sizes(), self.strides(), self.options().device(at::kCPU));
  host._set_conj(self.is_conj());
  host._set_neg(self.is_neg());
  check(orMemcpyWithStream(
      host.mutable_data_ptr(), self.const_data_ptr(), spanBytes(self), orMemcpyDeviceToHost,
      currentStreamHandle(self.device().index())));
  return host;
}

void intoHost(const at::Tensor& src, const at::Tensor& dst) {
  // One element out of a large matrix should not bring the matrix along: gather on the device if it can.
  if (spanBytes(src) > src.nbytes() && hasCopyKernel(src.device().index())) {
    const auto dense = emptyDense(src, src.options());
    launchCopy(src, dense);
    dst.copy_(toHost(dense));
    return;
  }
  dst.copy_(toHost(src)); // the CPU casts, broadcasts and resolves the bits
}
// LITERALINCLUDE END: COPY TO HOST

// LITERALINCLUDE START: COPY RUNS
void copyRuns(const at::Tensor& src, const at::Tensor& dst) {
  const auto stream = currentStreamHandle(dst.device().index());
  // Only walks over the addresses: it merges the dimensions that are contiguous in both.
  auto iter = at::TensorIteratorConfig()
                  .add_output(dst)
                  .add_const_input(src)
                  .check_all_same_device(false)
                  .resize_outputs(false)
                  .set_check_mem_overlap(false) // copyFrom() has
                  .build();
  const auto size = dst.element_size();
  const auto copy = [&](char** data, const int64_t* strides, int64_t count, int64_t rows) {
    const bool together = strides[0] == size && strides[1] == size;
    const auto runs = together ? int64_t{1} : count;
    const auto bytes = static_cast<size_t>(together ? count * size : size);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t run = 0; run < runs; ++run) {
        check(orMemcpyWithStream(
            data[0] + row * strides[2] + run * strides[0], data[1] + row * strides[3] + run * strides[1], bytes,
            orMemcpyHostToDevice, stream));
      }
    }
  };
  iter.serial_for_each(copy, {0, iter.numel()});
}
// LITERALINCLUDE END: COPY RUNS

} // namespace openreg
