// Gradients. Written by generate.py from operators.toml.
// clang-format off: a line is as long as its entry makes it
#include "operators.h"

#include "differentiable.h"

namespace acme {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

struct GateGradient : torch::autograd::Function<GateGradient> {
  static Tensor forward(AutogradContext* ctx, const Tensor& a, const Tensor& b) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    auto result = gate(a, b);
    ctx->save_for_backward({a, b});
    return result;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    return {
        ctx->needs_input_grad(0)
            ? gate_backward_a(grads[0], saved[1])
            : Tensor(),
        ctx->needs_input_grad(1)
            ? gate_backward_b(grads[0], saved[0], saved[1])
            : Tensor()};
  }
};

struct HuberGradient : torch::autograd::Function<HuberGradient> {
  static Tensor forward(AutogradContext* ctx, const Tensor& guess, const Tensor& target, double delta) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    auto result = huber(guess, target, delta);
    ctx->save_for_backward({guess, target});
    ctx->saved_data["delta"] = delta;
    return result;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    return {
        ctx->needs_input_grad(0)
            ? huber_backward_guess(saved[0], saved[1], grads[0], ctx->saved_data["delta"].toDouble())
            : Tensor(),
        ctx->needs_input_grad(1)
            ? huber_backward_target(saved[1], saved[0], grads[0], ctx->saved_data["delta"].toDouble())
            : Tensor(),
        Tensor()};
  }
};

struct LogSigmoidGradient : torch::autograd::Function<LogSigmoidGradient> {
  static Tensor forward(AutogradContext* ctx, const Tensor& self) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    auto result = log_sigmoid(self);
    ctx->save_for_backward({self});
    return result;
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    return {
        ctx->needs_input_grad(0)
            ? log_sigmoid_backward_self(grads[0], saved[0])
            : Tensor()};
  }
};

TORCH_LIBRARY_IMPL(acme, Autograd, m) {
  m.impl("gate", openreg::Differentiable<GateGradient, gate>::functional);
  m.impl("gate_", openreg::Differentiable<GateGradient, gate_>::inplace);
  m.impl("huber", openreg::Differentiable<HuberGradient, huber>::functional);
}

TORCH_LIBRARY_IMPL(acme, Autograd, m) {
  m.impl("gate.out", torch::autograd::autogradNotImplementedFallback());
  m.impl("huber.out", torch::autograd::autogradNotImplementedFallback());
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
  m.impl("log_sigmoid", openreg::Differentiable<LogSigmoidGradient, log_sigmoid>::functional);
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
  m.impl("log_sigmoid.out", torch::autograd::autogradNotImplementedFallback());
}

TORCH_LIBRARY_IMPL(acme, Autograd, m) {
  m.impl("entropy", torch::autograd::autogradNotImplementedFallback());
  m.impl("gate_backward.a", torch::autograd::autogradNotImplementedFallback());
  m.impl("gate_backward.b", torch::autograd::autogradNotImplementedFallback());
  m.impl("huber_backward.guess", torch::autograd::autogradNotImplementedFallback());
  m.impl("huber_backward.target", torch::autograd::autogradNotImplementedFallback());
  m.impl("log_sigmoid_backward.self", torch::autograd::autogradNotImplementedFallback());
}

TORCH_LIBRARY_IMPL(acme, ADInplaceOrView, m) {
  m.impl("gate_", torch::autograd::autogradNotImplementedInplaceOrViewFallback());
  m.impl("gate.out", torch::autograd::autogradNotImplementedInplaceOrViewFallback());
  m.impl("huber.out", torch::autograd::autogradNotImplementedInplaceOrViewFallback());
}

} // namespace

} // namespace acme
