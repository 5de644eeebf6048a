// cat: tensors one after the other.
#include "ops/structured/structured.h"

#include <ATen/ops/cat_meta.h>
#include <torch/library.h>

namespace openreg {
namespace {

/// The meta function looks for the first tensor that counts: old programs start with an empty vector.
struct CatImpl : at::meta::structured_cat {
  using Base = at::meta::structured_cat;

  void meta(const at::ITensorListRef& tensors, int64_t dim) {
    const auto found = Base::meta(tensors, dim);
    dim_ = found.dim;
    hasElements_ = found.valid < static_cast<int64_t>(tensors.size());
  }

  void impl(const at::ITensorListRef& tensors, int64_t /*dim*/, const at::Tensor& out) {
    if (out.numel() == 0 || !hasElements_) {
      return;
    }
    int64_t at = 0;
    for (const at::Tensor& tensor : tensors) {
      if (tensor.dim() == 1 && tensor.size(0) == 0) {
        continue;
      }
      const auto size = tensor.size(dim_);
      out.narrow(dim_, at, size).copy_(tensor); // casts, if types differ
      at += size;
    }
  }

 private:
  int64_t dim_ = 0;
  bool hasElements_ = false;
};

using Cat = Structured<CatImpl, "aten::cat.out">;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("cat", Cat::functional);
  m.impl("cat.out", Cat::out);
}

} // namespace
} // namespace openreg
