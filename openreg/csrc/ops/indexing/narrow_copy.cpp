// narrow_copy into a given output; PyTorch's default serves the other form, only.
#include "ops/structured/plain.h"
#include "ops/structured/structured_output.h"

#include <torch/library.h>

namespace openreg {
namespace {

at::Tensor& narrowCopyOut(const at::Tensor& self, int64_t dim, c10::SymInt start, c10::SymInt length, at::Tensor& out) {
  return copyResult(self.narrow_symint(dim, std::move(start), std::move(length)), out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"narrow_copy.out", narrowCopyOut>(m);
}

} // namespace
} // namespace openreg
