// cross, a component at a time, and trace, out of other operators.
#include "ops/launch/elementwise.h"
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <ATen/TensorIterator.h>
#include <ATen/native/Cross.h>
#include <ATen/ops/linalg_cross_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

/// In each component, the product of the next two, minus it the other way round.
void crossKernel(const at::Tensor& result, const at::Tensor& a, const at::Tensor& b, int64_t dim) {
  const auto left = apartFrom(result, a), right = apartFrom(result, b);
  for (int64_t i = 0; i < 3; ++i) {
    const auto next = (i + 1) % 3, last = (i + 2) % 3;
    const auto iter = at::TensorIteratorConfig()
                          .add_owned_output(result.select(dim, i))
                          .add_owned_const_input(left.select(dim, next))
                          .add_owned_const_input(right.select(dim, last))
                          .add_owned_const_input(left.select(dim, last))
                          .add_owned_const_input(right.select(dim, next))
                          .resize_outputs(false)
                          .build();
    launchElementwise(kernelFamily<"cross">, iter);
  }
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
