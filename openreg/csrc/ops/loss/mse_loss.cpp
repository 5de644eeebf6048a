// mse_loss and its derivative.
#include "ops/pointwise/elementwise_stub.h"
#include "ops/structured/forms.h"
#include "ops/structured/plain.h"

#include <ATen/native/BinaryOps.h>
#include <ATen/native/PointwiseOps.h>
#include <ATen/ops/mse_loss_backward_native.h>
#include <ATen/ops/mse_loss_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: REGISTER LOSS
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implForms<Structured<at::native::structured_mse_loss_out>>(m, "mse_loss");
  implPlain<"mse_loss_backward", at::native::mse_loss_backward>(m);
  implPlain<"mse_loss_backward.grad_input", at::native::mse_loss_backward_out>(m);
}
// LITERALINCLUDE END: REGISTER LOSS

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(mse_stub, &openreg::elementwiseStub<"mse">)
REGISTER_PRIVATEUSE1_DISPATCH(mse_backward_stub, &openreg::elementwiseStub<"mse_backward">)
} // namespace at::native
