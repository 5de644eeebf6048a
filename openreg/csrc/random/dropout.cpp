// Dropout: mask, product and scaling in one kernel.
#include "ops/structured/plain.h"
#include "random/draw.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_dropout_backward_native.h>
#include <ATen/ops/native_dropout_native.h>
#include <kernels/random/random.h>
#include <torch/library.h>

#include <tuple>

namespace openreg {
namespace {

// LITERALINCLUDE START: DROPOUT
// nn.Dropout calls this operator on accelerators; on the CPU it multiplies by a tensor from bernoulli_.
std::tuple<at::Tensor, at::Tensor> nativeDropout(const at::Tensor& input, double p, std::optional<bool> train) {
  TORCH_CHECK(p >= 0 && p <= 1, "native_dropout expects p to be in [0, 1], but got p=", p);
  if (!train.value_or(true) || input.numel() == 0 || !at::isFloatingType(input.scalar_type())) {
    return at::native::native_dropout_cpu(input, p, train); // written in terms of other operators: any device
  }
  const double keep = 1 - p;
  auto output = at::empty_like(input);
  auto mask = at::empty_like(input, input.options().dtype(at::kBool));
  const auto iter = inLogicalOrder({output, mask}, {input});
  const kernels::DropoutParameters parameters{{}, keep, keep == 0 ? 0 : 1 / keep};
  draw(kernelFamily<"dropout">, input.scalar_type(), 32, iter, std::nullopt, parameters);
  return {std::move(output), std::move(mask)};
}
// LITERALINCLUDE END: DROPOUT

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"native_dropout", nativeDropout>(m);
  implPlain<"native_dropout_backward", at::native::native_dropout_backward>(m);
}

} // namespace
} // namespace openreg
