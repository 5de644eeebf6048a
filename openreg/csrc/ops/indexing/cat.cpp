// cat: tensors one after the other.
#include "ops/copy/copy.h"
#include "ops/structured/forms.h"

#include <kernels/copy/copy.h>

#include <ATen/ops/cat_meta.h>
#include <torch/library.h>

namespace openreg {
namespace {

struct Cat : at::meta::structured_cat {
  void impl(const at::ITensorListRef& tensors, int64_t /*dim*/, const meta_return_ty& found, const at::Tensor& out) {
    // Meta has looked for the first tensor that counts: old programs start with an empty vector.
    if (out.numel() == 0 || found.valid == static_cast<int64_t>(tensors.size())) {
      return;
    }
    const bool hasKernel = out.dim() <= kernels::kMaxDims && hasCopyKernel(out.device().index());
    int64_t at = 0;
    for (const at::Tensor& tensor : tensors) {
      if (tensor.dim() == 1 && tensor.size(0) == 0) {
        continue;
      }
      const auto size = tensor.size(found.dim);
      if (hasKernel && sameBits(tensor, out) && tensor.device() == out.device()) {
        if (size != 0) { // Meta has seen to it that no other is empty, and that none overlaps the result.
          launchCopyInto(tensor, out, static_cast<int64_t>(found.dim), at);
        }
      } else {
        out.narrow(found.dim, at, size).copy_(tensor); // casts, if types differ
      }
      at += size;
    }
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<Cat, "cat.out">>(m, "cat");
}

} // namespace
} // namespace openreg
