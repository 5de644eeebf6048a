// index_copy: slices are put where a vector of indices says.
#include "ops/indexing/indexing.h"
#include "ops/structured/forms.h"

#include <ATen/native/IndexKernel.h>
#include <ATen/ops/index_copy_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

struct IndexCopyImpl : at::native::structured_index_copy_out {
  using Base = at::native::structured_index_copy_out;

  void impl(
      const at::Tensor& self,
      int64_t /*dim*/,
      const at::Tensor& index,
      const at::Tensor& source,
      const meta_return_ty& found,
      const at::Tensor& result) {
    Base::impl(self, found.dim, index, source, result);
  }
};

void copyKernel(at::TensorIterator& iter, int64_t dim, int64_t size, int64_t stride) {
  const int64_t bytes = stride * iter.element_size(0);
  launchIndexing(
      Indexing::Write, iter, {.dense = 2, .indexed = 0, .firstIndex = 1},
      {.sizes = size, .strides = bytes, .dimension = dim});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<IndexCopyImpl, "index_copy.out">>(m, "index_copy");
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(index_copy_stub, &openreg::copyKernel)
} // namespace at::native
