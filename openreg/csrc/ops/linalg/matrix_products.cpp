// Matrix products with PyTorch's checks and PyTorch's names: mm, addmm, bmm, baddbmm.
#include "ops/linalg/gemm.h"
#include "ops/structured/forms.h"

#include <ATen/ops/addmm_meta.h>
#include <ATen/ops/baddbmm_meta.h>
#include <ATen/ops/bmm_meta.h>
#include <ATen/ops/mm_meta.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: LINEAR IMPL
// PyTorch's own classes compute on the CPU or with cuBLAS. Their meta functions, which check the arguments and say what
// the result is like, serve every device; the impl is ours.
struct MatrixProduct : at::meta::structured_mm {
  void impl(const at::Tensor& self, const at::Tensor& mat2, const at::Tensor& out) {
    multiplyMatrices(out, self, mat2, /*beta=*/0, /*alpha=*/1);
  }
};

/// beta · self + alpha · a × b, where self may need broadcasting.
void addProduct(
    const at::Tensor& self,
    const at::Tensor& a,
    const at::Tensor& b,
    const at::Scalar& beta,
    const at::Scalar& alpha,
    const at::Tensor& out) {
  const auto expanded = self.expand(out.sizes());
  const auto first = apartFrom(out, a), second = apartFrom(out, b); // before `out` gets what is added
  if (!beta.equal(0) && !out.is_same(self)) {
    out.copy_(expanded);
  }
  multiplyMatrices(out, first, second, beta, alpha);
}

struct AddedMatrixProduct : at::meta::structured_addmm {
  void impl(
      const at::Tensor& self,
      const at::Tensor& mat1,
      const at::Tensor& mat2,
      const at::Scalar& beta,
      const at::Scalar& alpha,
      const at::Tensor& out) {
    addProduct(self, mat1, mat2, beta, alpha, out);
  }
};
// LITERALINCLUDE END: LINEAR IMPL

struct BatchedProduct : at::meta::structured_bmm {
  void impl(const at::Tensor& self, const at::Tensor& mat2, const at::Tensor& out) {
    multiplyMatrices(out, self, mat2, /*beta=*/0, /*alpha=*/1);
  }
};

struct AddedBatchedProduct : at::meta::structured_baddbmm {
  void impl(
      const at::Tensor& self,
      const at::Tensor& batch1,
      const at::Tensor& batch2,
      const at::Scalar& beta,
      const at::Scalar& alpha,
      const at::Tensor& out) {
    addProduct(self, batch1, batch2, beta, alpha, out);
  }
};

// LITERALINCLUDE START: REGISTER LINEAR
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<MatrixProduct, "mm.out">>(m, "mm");
  implForms<Structured<AddedMatrixProduct, "addmm.out">>(m, "addmm");
  implForms<Structured<BatchedProduct, "bmm.out">>(m, "bmm");
  implForms<Structured<AddedBatchedProduct, "baddbmm.out">>(m, "baddbmm");
}
// LITERALINCLUDE END: REGISTER LINEAR

} // namespace
} // namespace openreg
