// gather and scatter: an index for each element, along one dimension.
#include "ops/indexing/indexing.h"
#include "ops/structured/forms.h"

#include <ATen/native/TensorAdvancedIndexing.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather_native.h>
#include <ATen/ops/scatter_add_native.h>
#include <ATen/ops/scatter_native.h>
#include <ATen/ops/scatter_reduce_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

using at::native::ReductionType;

void gatherKernel(const at::Tensor& result, const at::Tensor& self, int64_t dim, const at::Tensor& index) {
  launchAlong(Indexing::Read, result, self, dim, index);
}

void scatterKernel(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& src) {
  launchAlong(Indexing::Write, src, self, dim, index);
}

/// A number as a tensor that any sizes can be had of.
at::Tensor expanded(const at::Scalar& value, const at::Tensor& self, const at::Tensor& index) {
  return at::full({}, value, self.options()).expand(index.sizes());
}

void scatterFillKernel(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Scalar& value) {
  scatterKernel(self, dim, index, expanded(value, self, index));
}

/// Halves are summed in float and rounded once, as the CPU does.
void scatterReduceKernel(
    const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& src, const ReductionType& reduce) {
  const auto indexing = indexingOf(reduce);
  if (c10::isReducedFloatingType(self.scalar_type())) {
    const auto wide = self.to(at::kFloat);
    launchAlong(indexing, src.to(at::kFloat), wide, dim, index);
    self.copy_(wide);
  } else {
    launchAlong(indexing, src, self, dim, index);
  }
}

void scatterAddKernel(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& src) {
  scatterReduceKernel(self, dim, index, src, ReductionType::SUM);
}

void scatterScalarReduceKernel(
    const at::Tensor& self,
    int64_t dim,
    const at::Tensor& index,
    const at::Scalar& value,
    const ReductionType& reduce) {
  scatterReduceKernel(self, dim, index, expanded(value, self, index), reduce);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using namespace at::native;
  implForms<Structured<structured_gather_out, "gather.out">>(m, "gather");
  implForms<Structured<structured_scatter_src_out, "scatter.src_out">>(m, "scatter", {"src", "src_out"});
  implForms<Structured<structured_scatter_value_out, "scatter.value_out">>(m, "scatter", {"value", "value_out"});
  implForms<Structured<structured_scatter_reduce_out, "scatter.reduce_out">>(m, "scatter", {"reduce", "reduce_out"});
  implForms<Structured<structured_scatter_value_reduce_out, "scatter.value_reduce_out">>(
      m, "scatter", {"value_reduce", "value_reduce_out"});
  implForms<Structured<structured_scatter_add, "scatter_add.out">>(m, "scatter_add");
  implForms<Structured<structured_scatter_reduce_two, "scatter_reduce.two_out">>(
      m, "scatter_reduce", {"two", "two_out"});
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(gather_stub, &openreg::gatherKernel)
REGISTER_PRIVATEUSE1_DISPATCH(scatter_stub, &openreg::scatterKernel)
REGISTER_PRIVATEUSE1_DISPATCH(scatter_fill_stub, &openreg::scatterFillKernel)
REGISTER_PRIVATEUSE1_DISPATCH(scatter_add_stub, &openreg::scatterAddKernel)
REGISTER_PRIVATEUSE1_DISPATCH(scatter_reduce_stub, &openreg::scatterReduceKernel)
REGISTER_PRIVATEUSE1_DISPATCH(scatter_scalar_reduce_stub, &openreg::scatterScalarReduceKernel)
REGISTER_PRIVATEUSE1_DISPATCH(scatter_reduce_two_stub, &openreg::scatterReduceKernel)
} // namespace at::native
