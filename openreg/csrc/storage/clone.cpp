// clone: the copy carries what the original does.
#include "storage/storage_impl.h"

#include <ATen/ops/clone_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: CLONE
// PyTorch's clone is `empty_like` and a copy of the numbers: another tensor, and other memory. What hangs on either is
// ours to take along. Memory that is labelled while it is made keeps that label.
at::Tensor cloneWhole(const at::Tensor& self, std::optional<at::MemoryFormat> format) {
  auto made = at::native::clone(self, format);
  if (auto metadata = self.unsafeGetTensorImpl()->get_backend_meta_intrusive_ptr()) {
    made.unsafeGetTensorImpl()->set_backend_meta(std::move(metadata));
  }
  if (const auto label = labelOf(self); !label.empty() && labelOf(made).empty()) {
    setLabelOf(made, label);
  }
  return made;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("clone", cloneWhole);
}
// LITERALINCLUDE END: CLONE

} // namespace
} // namespace openreg
