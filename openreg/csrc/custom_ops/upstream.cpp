// The operators that PyTorch's own project of this name has in its namespace, with the same behaviour.
#include <ATen/ops/abs.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace openreg {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// LITERALINCLUDE START: UPSTREAM FUNCTIONS
/// Returns its argument, and half of its gradient.
struct ReturnsSelf : torch::autograd::Function<ReturnsSelf> {
  static at::Tensor forward(AutogradContext* /*context*/, const at::Tensor& input) { return input; }
  static variable_list backward(AutogradContext* /*context*/, const variable_list& grads) { return {grads[0] * 0.5}; }
};

/// Returns a view of its argument, and half of its gradient.
struct ReturnsAlias : torch::autograd::Function<ReturnsAlias> {
  static at::Tensor forward(AutogradContext* /*context*/, const at::Tensor& input) {
    return input.view_symint(input.sym_sizes());
  }
  static variable_list backward(AutogradContext* /*context*/, const variable_list& grads) { return {grads[0] * 0.5}; }
};

// A second file that adds to the namespace: a fragment.
TORCH_LIBRARY_FRAGMENT(openreg, m) {
  m.def("custom_abs(Tensor input) -> Tensor");
  m.def("custom_autograd_fn_returns_self(Tensor input) -> Tensor");
  m.def("custom_autograd_fn_aliasing(Tensor(a) input) -> Tensor(a)");
}

// One key of autograd's, that of this device, and not Autograd, which stands for all.
TORCH_LIBRARY_IMPL(openreg, AutogradPrivateUse1, m) {
  m.impl("custom_autograd_fn_returns_self", [](const at::Tensor& input) { return ReturnsSelf::apply(input); });
  m.impl("custom_autograd_fn_aliasing", [](const at::Tensor& input) { return ReturnsAlias::apply(input); });
  m.impl("custom_abs", torch::autograd::autogradNotImplementedFallback()); // backward() says so
}
// LITERALINCLUDE END: UPSTREAM FUNCTIONS

TORCH_LIBRARY_IMPL(openreg, PrivateUse1, m) {
  m.impl("custom_abs", [](const at::Tensor& input) { return at::abs(input); });
}

TORCH_LIBRARY_IMPL(openreg, Meta, m) {
  m.impl("custom_abs", [](const at::Tensor& input) { return at::empty_like(input); });
}

} // namespace
} // namespace openreg
