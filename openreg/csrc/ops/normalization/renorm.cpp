// renorm and embedding_renorm_: rows that are longer than a limit are scaled to it.
#include "fallback/same_device.h"
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <ATen/TensorUtils.h>
#include <ATen/native/Normalization.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/renorm_native.h>
#include <ATen/ops/where.h>
#include <torch/library.h>

namespace openreg {
namespace {

/// Scales the rows that are looked up and longer than the limit. All rows are measured, so that nobody has to wait for
/// the indices.
at::Tensor& embeddingRenorm(at::Tensor& self, const at::Tensor& indices, double limit, double p) {
  TORCH_CHECK(self.dim() == 2, "embedding_renorm_: expected a matrix, but got a tensor of size ", self.sizes());
  at::checkScalarTypes("embedding_renorm_", at::TensorArg(indices, "indices", 2), {at::kLong, at::kInt});
  const auto lengths = at::linalg_vector_norm(self, p, 1, true);
  auto isShort = at::ones_like(lengths, lengths.options().dtype(at::kBool));
  isShort.index_fill_(0, indices.reshape({-1}).to(at::kLong), false).logical_or_(lengths.le(limit));
  return self.mul_(at::where(isShort, at::ones_like(lengths), lengths.add(1e-7).reciprocal_().mul_(limit)));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_renorm_out, "renorm.out">>(m, "renorm");
  implPlain<"embedding_renorm_", embeddingRenorm>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(
    renorm_scale_factor_stub, (&openreg::elementwiseStub<"renorm_scale_factor", at::TensorIteratorBase, double>))
} // namespace at::native
