// Tensor.record_stream().
#include "memory/allocator.h"

#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: RECORD STREAM KERNEL
// The fallback can't help: the CPU has no streams, hence no kernel for it.
void recordTensor(at::Tensor& self, at::Stream stream) {
  recordStream(self.storage().data_ptr(), stream);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("record_stream", recordTensor);
}
// LITERALINCLUDE END: RECORD STREAM KERNEL

} // namespace
} // namespace openreg
