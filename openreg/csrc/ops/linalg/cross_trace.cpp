// cross and trace, out of other operators.
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <ATen/native/Cross.h>
#include <ATen/ops/linalg_cross_native.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>
#include <torch/library.h>

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

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_linalg_cross_out, "linalg_cross.out">>(m, "linalg_cross");
  implPlain<"trace", trace>(m);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(cross_stub, &openreg::crossKernel)
} // namespace at::native
