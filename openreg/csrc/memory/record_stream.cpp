// Tensor.record_stream().
#include "memory/allocator.h"

#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: RECORD STREAM KERNEL
// The fallback can't help: the CPU has no streams, hence no kernel for it.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("record_stream", [](at::Tensor& self, at::Stream stream) { recordStream(self.storage().data_ptr(), stream); });
}
// LITERALINCLUDE END: RECORD STREAM KERNEL

} // namespace
} // namespace openreg
