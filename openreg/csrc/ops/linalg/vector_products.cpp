// Products with vectors, and sums of products: addmv, dot, vdot, addbmm.
#include "ops/launch/arrays.h"
#include "ops/linalg/gemm.h"
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <kernels/linalg/dot.h>

#include <ATen/ops/addmm.h>
#include <ATen/ops/addmv_meta.h>
#include <ATen/ops/empty.h>

namespace openreg {
namespace {

struct AddedVectorProduct : at::meta::structured_addmv {
  void impl(
      const at::Tensor& self,
      const at::Tensor& mat,
      const at::Tensor& vec,
      const at::Scalar& beta,
      const at::Scalar& alpha,
      const at::Tensor& out) {
    const auto matrix = apartFrom(out, mat), vector = apartFrom(out, vec); // before `out` gets what is added
    if (!beta.equal(0) && !out.is_same(self)) {
      out.copy_(self.expand(out.sizes()));
    }
    multiplyMatrices(out.unsqueeze(1), matrix, vector.unsqueeze(1), beta, alpha);
  }
};
using Addmv = Structured<AddedVectorProduct, "addmv.out">;

/// @param conjugates Whether to take the elements of `self`, which itself is no lazy conjugate, conjugated.
at::Tensor launchDot(const at::Tensor& self, const at::Tensor& other, bool conjugates) {
  TORCH_CHECK(
      self.dim() == 1 && other.dim() == 1, "1D tensors expected, but got ", self.dim(), "D and ", other.dim(),
      "D tensors");
  TORCH_CHECK(
      self.dtype() == other.dtype(), "dot : expected both vectors to have same dtype, but found ", self.dtype(),
      " and ", other.dtype());
  TORCH_CHECK(
      self.numel() == other.numel(), "inconsistent tensor size, expected tensor [", self.numel(), "] and src [",
      other.numel(), "] to have the same number of elements, but got ", self.numel(), " and ", other.numel(),
      " elements respectively");
  auto out = at::empty({}, self.options());
  const ArrayOutput output(out);
  kernels::DotArgs args{};
  args.count = self.numel();
  args.conjugates = conjugates ? 1 : 0;
  const auto sums = args.parts() > 1 ? at::empty({args.parts(), 2}, self.options().dtype(at::kDouble)) : at::Tensor();
  launchOverArrays(
      kernelFamily<"dot">, self, args,
      {reads("self", &kernels::DotArgs::first, self.resolve_neg()),
       reads("tensor", &kernels::DotArgs::second, other.resolve_conj().resolve_neg()),
       writes("result", &kernels::DotArgs::result, output), writes("sums", &kernels::DotArgs::sums, sums)});
  output.finish();
  return out;
}

at::Tensor dot(const at::Tensor& self, const at::Tensor& other) {
  return self.is_conj() ? launchDot(self.conj(), other, true) : launchDot(self, other, false);
}

at::Tensor vdot(const at::Tensor& self, const at::Tensor& other) {
  return self.is_conj() ? launchDot(self.conj(), other, false) : launchDot(self, other, true);
}

template <at::Tensor (*product)(const at::Tensor&, const at::Tensor&)>
at::Tensor& productOut(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  TORCH_CHECK(self.dtype() == out.dtype(), "result dtype ", out.dtype(), " does not match input dtype ", self.dtype());
  return copyResult(product(self, other), out);
}

at::Tensor& addbmmOut(
    const at::Tensor& self,
    const at::Tensor& batch1,
    const at::Tensor& batch2,
    const at::Scalar& beta,
    const at::Scalar& alpha,
    at::Tensor& out) {
  TORCH_CHECK(batch1.dim() == 3 && batch2.dim() == 3, "batch1 and batch2 must be 3D tensors");
  TORCH_CHECK(
      batch1.size(0) == batch2.size(0), "batch1 and batch2 must have same number of batches, got ", batch1.size(0),
      " and ", batch2.size(0));
  // All the products of a batch are one: of rows as long as all of them together.
  const auto rows = batch1.transpose(0, 1).reshape({batch1.size(1), batch1.size(0) * batch1.size(2)});
  return at::addmm_out(out, self, rows, batch2.reshape({batch2.size(0) * batch2.size(1), batch2.size(2)}), beta, alpha);
}

at::Tensor addbmm(
    const at::Tensor& self,
    const at::Tensor& batch1,
    const at::Tensor& batch2,
    const at::Scalar& beta,
    const at::Scalar& alpha) {
  auto out = at::empty({0}, self.options());
  return addbmmOut(self, batch1, batch2, beta, alpha, out);
}

at::Tensor& addbmmInPlace(
    at::Tensor& self,
    const at::Tensor& batch1,
    const at::Tensor& batch2,
    const at::Scalar& beta,
    const at::Scalar& alpha) {
  return addbmmOut(self, batch1, batch2, beta, alpha, self);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Addmv>(m, "addmv");
  implPlain<"dot", dot>(m);
  implPlain<"dot.out", productOut<dot>>(m);
  implPlain<"vdot", vdot>(m);
  implPlain<"vdot.out", productOut<vdot>>(m);
  implPlain<"addbmm", addbmm>(m);
  implPlain<"addbmm_", addbmmInPlace>(m);
  implPlain<"addbmm.out", addbmmOut>(m);
}

} // namespace
} // namespace openreg
