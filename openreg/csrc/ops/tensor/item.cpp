// item(): one element to the host. Every `if tensor:` and every printed number comes here.
#include "ops/copy/copy.h"

#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: ITEM
at::Scalar localScalarDense(const at::Tensor& self) {
  // Blocks until the device has caught up: the price of any answer that Python wants to see.
  return toHost(self).item();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_local_scalar_dense", localScalarDense);
}
// LITERALINCLUDE END: ITEM

} // namespace
} // namespace openreg
