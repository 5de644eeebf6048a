// index_add and index_reduce: slices are added, or otherwise combined, where a vector of indices says.
#include "ops/indexing/indexing.h"
#include "ops/structured/forms.h"

#include <ATen/Dispatch.h>
#include <ATen/native/ReductionType.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_add_meta.h>
#include <ATen/ops/index_reduce_meta.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <limits>

namespace openreg {
namespace {

using at::native::ReductionType;

/// Combines slices of `source` with those of `result` that the indices name.
void launchSlices(
    Indexing indexing, const at::Tensor& result, int64_t dim, const at::Tensor& index, const at::Tensor& source) {
  if (index.numel() == 0 || result.numel() == 0) {
    return;
  }
  const auto slices = source.dim() == 0 ? source.unsqueeze(0) : source;
  std::vector<int64_t> shape(slices.dim(), 1);
  shape[dim] = index.numel();
  launchAlong(indexing, slices, result, dim, index.reshape(shape).expand(slices.sizes()));
}

void copyUnlessSame(const at::Tensor& self, const at::Tensor& result) {
  if (!result.is_same(self)) {
    result.copy_(self);
  }
}

struct IndexAddImpl : at::meta::structured_index_add {
  void impl(
      const at::Tensor& self,
      int64_t /*dim*/,
      const at::Tensor& index,
      const at::Tensor& source,
      const at::Scalar& alpha,
      const meta_return_ty& found,
      const at::Tensor& result) {
    copyUnlessSame(self, result);
    const bool isPlain = alpha.equal(1);
    launchSlices(
        Indexing::Add, result, found.dim, index,
        isPlain ? source : at::mul(source, at::full({}, alpha, source.options())));
  }
};

/// What changes nothing it is combined with.
at::Scalar neutral(ReductionType reduce, at::ScalarType type) {
  at::Scalar number = reduce == ReductionType::PROD ? 1 : 0;
  if (reduce == ReductionType::MAX || reduce == ReductionType::MIN) {
    AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, type, "index_reduce", [&] {
      using Limits = std::numeric_limits<scalar_t>;
      const scalar_t largest = Limits::has_infinity ? Limits::infinity() : Limits::max();
      const scalar_t smallest = Limits::has_infinity ? scalar_t(-Limits::infinity()) : Limits::lowest();
      number = reduce == ReductionType::MAX ? smallest : largest;
    });
  }
  return number;
}

struct IndexReduceImpl : at::meta::structured_index_reduce {
  void impl(
      const at::Tensor& self,
      int64_t /*dim*/,
      const at::Tensor& index,
      const at::Tensor& source,
      std::string_view reduce,
      bool includeSelf,
      const meta_return_ty& found,
      const at::Tensor& result) {
    TORCH_WARN_ONCE("index_reduce() is in beta and the API may change at any time.");
    const auto op = at::native::get_operator_enum(reduce, true);
    copyUnlessSame(self, result);
    if (!includeSelf) {
      result.index_fill_(found.dim, index.to(at::kLong), neutral(op, result.scalar_type()));
    }
    launchSlices(indexingOf(op), result, found.dim, index, source);
    if (op == ReductionType::MEAN) {
      auto counts = includeSelf ? at::ones_like(result) : at::zeros_like(result);
      counts.index_add_(found.dim, index, at::ones_like(source));
      counts.masked_fill_(counts.eq(0), 1);
      at::isIntegralType(result.scalar_type(), true) ? result.div_(counts, "floor") : result.div_(counts);
    }
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<IndexAddImpl, "index_add.out">>(m, "index_add");
  implForms<Structured<IndexReduceImpl, "index_reduce.out">>(m, "index_reduce");
}

} // namespace
} // namespace openreg
