// mse_loss and its derivative.
#include "ops/launch/elementwise.h"
#include "ops/structured/plain.h"
#include "ops/structured/structured.h"

#include <ATen/native/BinaryOps.h>
#include <ATen/native/PointwiseOps.h>
#include <ATen/ops/mse_loss_backward_native.h>
#include <ATen/ops/mse_loss_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

void squaredErrorKernel(at::TensorIteratorBase& iter) {
  launchElementwise(kernelFamily<"mse">, iter);
}
void squaredErrorBackwardKernel(at::TensorIterator& iter, const c10::Scalar& factor) {
  launchElementwise(kernelFamily<"mse_backward">, iter, {factor});
}

// LITERALINCLUDE START: REGISTER LOSS
using MseLoss = Structured<at::native::structured_mse_loss_out>;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("mse_loss", MseLoss::functional);
  m.impl("mse_loss.out", MseLoss::out);
  implPlain<"mse_loss_backward", at::native::mse_loss_backward>(m);
  implPlain<"mse_loss_backward.grad_input", at::native::mse_loss_backward_out>(m);
}
// LITERALINCLUDE END: REGISTER LOSS

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(mse_stub, &openreg::squaredErrorKernel)
REGISTER_PRIVATEUSE1_DISPATCH(mse_backward_stub, &openreg::squaredErrorBackwardKernel)
} // namespace at::native
