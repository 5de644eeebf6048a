// narrow_copy into a given output; PyTorch's default serves the other form, only.
#include "ops/structured/structured_output.h"

#include <torch/library.h>

namespace openreg {
namespace {

at::Tensor& narrowCopyOut(const at::Tensor& self, int64_t dim, c10::SymInt start, c10::SymInt length, at::Tensor& out) {
  SameDevice("aten::narrow_copy.out").all(self, dim, start, length, out);
  const auto part = self.narrow_symint(dim, std::move(start), std::move(length));
  resizeOutput(out, part.sizes(), {}, part.options());
  return out.copy_(part);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("narrow_copy.out", narrowCopyOut);
}

} // namespace
} // namespace openreg
