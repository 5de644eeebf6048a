// Derivatives of RMS normalisation, as PyTorch's own generated code writes them: a node for autograd's graph.
#include "custom_ops/rms_norm.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/library.h>

namespace openreg {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

// LITERALINCLUDE START: OWN NODE
/// What the backward pass calls. Not torch::autograd::Function, which torch.func refuses when it is written in C++.
class RmsNormNode final : public torch::autograd::Node {
 public:
  RmsNormNode(const at::Tensor& input, const at::Tensor& weight)
      : Node(torch::autograd::collect_next_edges(input, weight)), input_(input, false), weight_(weight, false) {}

  /** @brief Keeps what the forward pass has found out. */
  void save(const at::Tensor& rstd) { rstd_ = SavedVariable(rstd, false); }

  std::string name() const override { return "RmsNormBackward"; }

  void release_variables() override { // after the backward pass, unless it is to be run again
    const std::lock_guard lock(mutex_);
    for (auto* saved : {&input_, &weight_, &rstd_}) {
      saved->reset_data();
    }
  }

 private:
  variable_list apply(variable_list&& grads) override {
    const std::lock_guard lock(mutex_);
    const std::array<bool, 2> wanted = {task_should_compute_output(0), task_should_compute_output(1)};
    if (!grads[0].defined() || (!wanted[0] && !wanted[1])) {
      return {at::Tensor(), at::Tensor()};
    }
    // Unpacking finds out whether somebody has changed what was saved.
    auto [gradInput, gradWeight] =
        rmsNormBackwardOp()->call(grads[0], input_.unpack(), weight_.unpack(), rstd_.unpack(), wanted);
    return {gradInput, gradWeight};
  }

  SavedVariable input_, weight_, rstd_;
};
// LITERALINCLUDE END: OWN NODE

// LITERALINCLUDE START: OWN AUTOGRAD
/// Whether a forward-mode derivative is asked for: torch.func.jvp, jacfwd. There are no fused kernels for that.
template <class... T>
bool anyTangent(const T&... tensors) {
  return (torch::autograd::isFwGradDefined(tensors) || ...);
}

TwoTensors
rmsNormForwardAutograd(c10::DispatchKeySet keys, const at::Tensor& input, const at::Tensor& weight, double eps) {
  if (anyTangent(input, weight)) {
    const auto [output, rstd] = composedRmsNorm(input, weight, eps);
    return {output, rstd.detach()};
  }
  c10::intrusive_ptr<RmsNormNode> node;
  if (torch::autograd::compute_requires_grad(input, weight)) {
    node = c10::make_intrusive<RmsNormNode>(input, weight);
  }
  auto [output, rstd] = [&] {
    const at::AutoDispatchBelowADInplaceOrView below; // what the kernel calls is not recorded
    return rmsNormForwardOp()->redispatch(keys & c10::after_autograd_keyset, input, weight, eps);
  }();
  if (node) {
    node->save(rstd);
    torch::autograd::set_history(output, node);
  }
  return {output, rstd};
}
// LITERALINCLUDE END: OWN AUTOGRAD

/// The same number for each row, but one that knows how it depends on the input.
at::Tensor dependentRstd(const at::Tensor& x, const at::Tensor& rstd) {
  const auto square = (x * x).mean(-1, /*keepdim=*/true);
  return (square - square.detach() + rstd.detach().square().reciprocal()).rsqrt();
}

/// The derivative of the derivative, out of differentiable operators, so that there is one of any order.
class RmsNormBackwardNode final : public torch::autograd::Node {
 public:
  RmsNormBackwardNode(
      const at::Tensor& gradOutput, const at::Tensor& input, const at::Tensor& weight, const at::Tensor& rstd)
      : Node(torch::autograd::collect_next_edges(gradOutput, input, weight)), grad_(gradOutput, false),
        input_(input, false), weight_(weight, false), rstd_(rstd, false) {}

  std::string name() const override { return "RmsNormBackwardBackward"; }

  void release_variables() override {
    const std::lock_guard lock(mutex_);
    for (auto* saved : {&grad_, &input_, &weight_, &rstd_}) {
      saved->reset_data();
    }
  }

 private:
  // With x̂ = x · rstd, m(…) the mean of a row, v and u the gradients of grad_input and grad_weight, a = grad · weight:
  //   grad:   weight · rstd · (v − x̂ · m(v · x̂)) + u · x̂
  //   weight: Σ grad · rstd · (v − x̂ · m(v · x̂))
  //   input:  −rstd² · (a · m(v · x̂) + v · m(a · x̂) + x̂ · (m(v · a) − 3 · m(a · x̂) · m(v · x̂)))
  //           + rstd · (u · grad − x̂ · m(u · grad · x̂))
  variable_list apply(variable_list&& grads) override {
    const std::lock_guard lock(mutex_);
    const auto input = input_.unpack(), weight = weight_.unpack(), gradOutput = grad_.unpack();
    const auto type = sumType(input.scalar_type());
    const auto x = input.to(type), w = weight.to(type), g = gradOutput.to(type);
    const auto mean = [](const at::Tensor& rows) { return rows.mean(-1, /*keepdim=*/true); };
    const auto rstd = at::GradMode::is_enabled() ? dependentRstd(x, rstd_.unpack()) : rstd_.unpack();
    const auto normalized = x * rstd;
    at::Tensor ofGrad, ofInput, ofWeight;
    const auto add = [](at::Tensor& sum, const at::Tensor& term) { sum = sum.defined() ? sum + term : term; };
    if (grads[0].defined()) {
      const auto v = grads[0].to(type), a = g * w;
      const auto mv = mean(v * normalized), ma = mean(a * normalized);
      const auto part = rstd * (v - normalized * mv);
      add(ofGrad, w * part);
      add(ofWeight, (g * part).sum_to_size(weight.sizes()));
      add(ofInput, -rstd * rstd * (a * mv + v * ma + normalized * (mean(v * a) - 3 * ma * mv)));
    }
    if (grads[1].defined()) {
      const auto ug = grads[1].to(type) * g;
      add(ofGrad, grads[1].to(type) * normalized);
      add(ofInput, rstd * (ug - normalized * mean(ug * normalized)));
    }
    const auto as = [](const at::Tensor& result, const at::Tensor& like) {
      return result.defined() ? result.to(like.scalar_type()) : result;
    };
    return {as(ofGrad, gradOutput), as(ofInput, input), as(ofWeight, weight)};
  }

  SavedVariable grad_, input_, weight_, rstd_;
};

TwoTensors rmsNormBackwardAutograd(
    c10::DispatchKeySet keys,
    const at::Tensor& gradOutput,
    const at::Tensor& input,
    const at::Tensor& weight,
    const at::Tensor& rstd,
    std::array<bool, 2> wanted) {
  if (anyTangent(gradOutput, input, weight)) {
    return composedRmsNormBackward(
        gradOutput, input, weight, dependentRstd(input.to(rstd.scalar_type()), rstd), wanted);
  }
  c10::intrusive_ptr<RmsNormBackwardNode> node;
  if (torch::autograd::compute_requires_grad(gradOutput, input, weight)) {
    node = c10::make_intrusive<RmsNormBackwardNode>(gradOutput, input, weight, rstd);
  }
  auto [gradInput, gradWeight] = [&] {
    const at::AutoDispatchBelowADInplaceOrView below;
    return rmsNormBackwardOp()->redispatch(keys & c10::after_autograd_keyset, gradOutput, input, weight, rstd, wanted);
  }();
  if (node) {
    torch::autograd::set_history(gradInput, node);
    torch::autograd::set_history(gradWeight, node);
  }
  return {gradInput, gradWeight};
}

TORCH_LIBRARY_IMPL(openreg, Autograd, m) {
  m.impl("rms_norm_forward", rmsNormForwardAutograd);
  m.impl("rms_norm_backward", rmsNormBackwardAutograd);
}

} // namespace
} // namespace openreg
