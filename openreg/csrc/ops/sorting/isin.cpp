// isin: whether each element is one of others.
#include "ops/structured/forms.h"

#include <ATen/native/TensorCompare.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/isin_native.h>
#include <ATen/ops/ne.h>
#include <torch/library.h>

namespace openreg {
namespace {

/// Compares each with each.
void isinKernel(const at::Tensor& elements, const at::Tensor& test, bool invert, const at::Tensor& out) {
  const auto rows = elements.unsqueeze(-1);
  const auto others = test.reshape({-1});
  out.copy_(invert ? at::ne(rows, others).all(-1) : at::eq(rows, others).any(-1));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using namespace at::native;
  implForms<Structured<structured_isin_Tensor_Tensor_out, "isin.Tensor_Tensor_out">>(
      m, "isin", {"Tensor_Tensor", "Tensor_Tensor_out"});
  implForms<Structured<structured_isin_Tensor_Scalar_out, "isin.Tensor_Scalar_out">>(
      m, "isin", {"Tensor_Scalar", "Tensor_Scalar_out"});
  implForms<Structured<structured_isin_Scalar_Tensor_out, "isin.Scalar_Tensor_out">>(
      m, "isin", {"Scalar_Tensor", "Scalar_Tensor_out"});
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(isin_default_stub, &openreg::isinKernel)
} // namespace at::native
