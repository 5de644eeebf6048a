// record_stream, for users and for PyTorch's own code.
#include "device/guard.h"
#include "memory/caching_allocator.h"

#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace openreg {

// LITERALINCLUDE START: RECORD STREAM KERNEL
// The autograd engine asks here, where a gradient crosses from one stream to another.
void Guard::recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const {
  recordStream(data, stream);
}

namespace {

// Tensor.record_stream(). There is no fallback for it: the CPU has no streams.
void recordTensor(at::Tensor& self, at::Stream stream) {
  recordStream(self.storage().data_ptr(), stream);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("record_stream", recordTensor);
}

} // namespace
// LITERALINCLUDE END: RECORD STREAM KERNEL

} // namespace openreg
