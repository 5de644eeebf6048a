// Calls. Written by generate.py from operators.toml.
// clang-format off: a line is as long as its entry makes it
#pragma once

#include <ATen/core/Tensor.h>

namespace acme {

using at::Tensor;

/// torch.special.entr(self)
C10_EXPORT Tensor entropy(const Tensor& self);

/// a * torch.sigmoid(b)
C10_EXPORT Tensor gate(const Tensor& a, const Tensor& b);
C10_EXPORT Tensor& gate_(Tensor& a, const Tensor& b);
C10_EXPORT Tensor& gate_out(const Tensor& a, const Tensor& b, Tensor& out);

/// torch.nn.functional.huber_loss(*torch.broadcast_tensors(guess, target), reduction='none', delta=delta)
C10_EXPORT Tensor huber(const Tensor& guess, const Tensor& target, double delta);
C10_EXPORT Tensor& huber_out(const Tensor& guess, const Tensor& target, double delta, Tensor& out);

/// torch.ops.aten.celu(self, alpha)
C10_EXPORT Tensor celu(const Tensor& self, const at::Scalar& alpha);
C10_EXPORT Tensor& celu_(Tensor& self, const at::Scalar& alpha);

/// torch.ops.aten.log_sigmoid(self)
C10_EXPORT Tensor log_sigmoid(const Tensor& self);
C10_EXPORT Tensor& log_sigmoid_out(const Tensor& self, Tensor& out);

/// A gradient.
C10_EXPORT Tensor gate_backward_a(const Tensor& grad, const Tensor& b);

/// A gradient.
C10_EXPORT Tensor gate_backward_b(const Tensor& grad, const Tensor& a, const Tensor& b);

/// A gradient.
C10_EXPORT Tensor huber_backward_guess(const Tensor& guess, const Tensor& target, const Tensor& grad, double delta);

/// A gradient.
C10_EXPORT Tensor huber_backward_target(const Tensor& target, const Tensor& guess, const Tensor& grad, double delta);

/// A gradient.
C10_EXPORT Tensor log_sigmoid_backward_self(const Tensor& grad, const Tensor& self);

} // namespace acme
