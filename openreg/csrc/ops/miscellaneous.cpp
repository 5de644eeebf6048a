// Operators that are made of others, or of one elementwise kernel: cross, trace, renorm, isin, kaiser_window, complex …
#include "ops/elementwise_stub.h"
#include "ops/forms.h"

#include <ATen/TensorUtils.h>
#include <ATen/native/Cross.h>
#include <ATen/native/Normalization.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/channel_shuffle_native.h>
#include <ATen/ops/complex_native.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/isin_native.h>
#include <ATen/ops/linalg_cross_native.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/polar_native.h>
#include <ATen/ops/renorm_native.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/where.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace openreg {
namespace {

/// In each component, the product of the next two, minus it the other way round.
void crossKernel(const at::Tensor& result, const at::Tensor& a, const at::Tensor& b, int64_t dim) {
  const auto next = [dim](const at::Tensor& x, int64_t steps) { return x.roll(-steps, dim); };
  at::Tensor out = result;
  at::sub_out(out, at::mul(next(a, 1), next(b, 2)), at::mul(next(a, 2), next(b, 1)));
}

at::Tensor trace(const at::Tensor& self) {
  TORCH_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  return self.diagonal().sum();
}

/// Compares each with each.
void isinKernel(const at::Tensor& elements, const at::Tensor& test, bool invert, const at::Tensor& out) {
  const auto rows = elements.unsqueeze(-1);
  const auto others = test.reshape({-1});
  out.copy_(invert ? at::ne(rows, others).all(-1) : at::eq(rows, others).any(-1));
}

/// What channel_shuffle calls. PyTorch's default takes views only.
at::Tensor shuffleChannels(const at::Tensor& self, int64_t groups) {
  const auto channels = self.size(1);
  const auto parts = self.reshape({self.size(0), groups, channels / groups, -1});
  return parts.transpose(1, 2).reshape(self.sizes()).contiguous(self.suggest_memory_format());
}

/// Scales the rows that are looked up and longer than the limit. All rows are measured, so that nobody has to wait for
/// the indices.
at::Tensor& embeddingRenorm(at::Tensor& self, const at::Tensor& indices, double limit, double p) {
  SameDevice("aten::embedding_renorm_").all(self, indices);
  TORCH_CHECK(self.dim() == 2, "embedding_renorm_: expected a matrix, but got a tensor of size ", self.sizes());
  at::checkScalarTypes("embedding_renorm_", at::TensorArg(indices, "indices", 2), {at::kLong, at::kInt});
  const auto lengths = at::linalg_vector_norm(self, p, 1, true);
  auto isShort = at::ones_like(lengths, lengths.options().dtype(at::kBool));
  isShort.index_fill_(0, indices.reshape({-1}).to(at::kLong), false).logical_or_(lengths.le(limit));
  return self.mul_(at::where(isShort, at::ones_like(lengths), lengths.add(1e-7).reciprocal_().mul_(limit)));
}

const KernelFamily kKaiser("kaiser_window");

void kaiserKernel(at::TensorIteratorBase& iter, int64_t length, double beta) {
  // A parameter must be a number of the type that is computed in; so large a beta makes no difference.
  const double most =
      iter.common_dtype() == at::kDouble ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  launchElementwise(
      kKaiser, iter, {2.0 / static_cast<double>(length - 1), std::isinf(beta) ? beta : std::clamp(beta, -most, most)});
}

template <Name family>
void complexKernel(at::TensorIterator& iter) {
  static const KernelFamily kernels(family.value);
  launchElementwise(kernels, iter, iter.input_dtype());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using namespace at::native;
  implForms<Structured<structured_linalg_cross_out, "aten::linalg_cross.out">>(m, "linalg_cross");
  implForms<Structured<structured_renorm_out, "aten::renorm.out">>(m, "renorm");
  implForms<Structured<structured_isin_Tensor_Tensor_out, "aten::isin.Tensor_Tensor_out">>(
      m, "isin", {"Tensor_Tensor", "Tensor_Tensor_out"});
  implForms<Structured<structured_isin_Tensor_Scalar_out, "aten::isin.Tensor_Scalar_out">>(
      m, "isin", {"Tensor_Scalar", "Tensor_Scalar_out"});
  implForms<Structured<structured_isin_Scalar_Tensor_out, "aten::isin.Scalar_Tensor_out">>(
      m, "isin", {"Scalar_Tensor", "Scalar_Tensor_out"});
  m.impl("trace", trace);
  m.impl("embedding_renorm_", embeddingRenorm);
  m.impl("channel_shuffle", channel_shuffle);
  m.impl("native_channel_shuffle", shuffleChannels);
  m.impl("complex.out", complex_out);
  m.impl("polar.out", polar_out);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(cross_stub, &openreg::crossKernel)
REGISTER_PRIVATEUSE1_DISPATCH(complex_stub, &openreg::complexKernel<"complex">)
REGISTER_PRIVATEUSE1_DISPATCH(polar_stub, &openreg::complexKernel<"polar">)
REGISTER_PRIVATEUSE1_DISPATCH(isin_default_stub, &openreg::isinKernel)
REGISTER_PRIVATEUSE1_DISPATCH(kaiser_window_stub, &openreg::kaiserKernel)
REGISTER_PRIVATEUSE1_DISPATCH(
    renorm_scale_factor_stub, (&openreg::elementwiseStub<"renorm_scale_factor", at::TensorIteratorBase, double>))
} // namespace at::native
