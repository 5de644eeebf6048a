// Kernels. Written by generate.py from operators.toml.
// clang-format off: a line is as long as its entry makes it
#include "operators.h"

#include "elementwise.h"

namespace acme {
namespace {

// entropy(Tensor self) -> Tensor
struct Entropy : openreg::Elementwise {
  void meta(const Tensor& self) {
    iterate({self});
  }
  void impl(const Tensor&, const Tensor&) {
    launchElementwise(openreg::kernelFamily<"special_entr">, *this);
  }
};

// gate(Tensor a, Tensor b) -> Tensor
struct Gate : openreg::Elementwise {
  void meta(const Tensor& a, const Tensor& b) {
    iterate({a, b});
  }
  void impl(const Tensor&, const Tensor&, const Tensor&) {
    launchElementwise(openreg::kernelFamily<"glu">, *this);
  }
};

// huber(Tensor guess, Tensor target, float delta=1.0) -> Tensor
struct Huber : openreg::Elementwise {
  void meta(const Tensor& guess, const Tensor& target, double) {
    iterate({guess, target});
  }
  void impl(const Tensor&, const Tensor&, double delta, const Tensor&) {
    launchElementwise(openreg::kernelFamily<"huber">, *this, {delta});
  }
};

// celu(Tensor self, Scalar alpha=1.0) -> Tensor
struct Celu : openreg::Elementwise {
  void meta(const Tensor& self, const at::Scalar&) {
    iterate({self});
  }
  void impl(const Tensor&, const at::Scalar& alpha, const Tensor&) {
    launchElementwise(openreg::kernelFamily<"elu">, *this, {alpha.toDouble(), 1, 1 / alpha.toDouble()});
  }
};

// log_sigmoid(Tensor self) -> Tensor
struct LogSigmoid : openreg::Elementwise {
  void meta(const Tensor& self) {
    iterate({self});
  }
  void impl(const Tensor&, const Tensor&) {
    launchElementwise(openreg::kernelFamily<"log_sigmoid">, *this);
  }
};

// gate_backward.a(Tensor grad, Tensor b) -> Tensor
struct GateBackwardA : openreg::Elementwise {
  void meta(const Tensor& grad, const Tensor& b) {
    iterate({grad, b});
  }
  void impl(const Tensor&, const Tensor&, const Tensor&) {
    launchElementwise(openreg::kernelFamily<"glu">, *this);
  }
};

// gate_backward.b(Tensor grad, Tensor a, Tensor b) -> Tensor
struct GateBackwardB : openreg::Elementwise {
  void meta(const Tensor& grad, const Tensor& a, const Tensor& b) {
    iterate({grad, a, b});
  }
  void impl(const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
    launchElementwise(openreg::kernelFamily<"glu_backward">, *this);
  }
};

// huber_backward.guess(Tensor guess, Tensor target, Tensor grad, float delta) -> Tensor
struct HuberBackwardGuess : openreg::Elementwise {
  void meta(const Tensor& guess, const Tensor& target, const Tensor& grad, double) {
    iterate({guess, target, grad});
  }
  void impl(const Tensor&, const Tensor&, const Tensor&, double delta, const Tensor&) {
    launchElementwise(openreg::kernelFamily<"huber_backward">, *this, {1, delta});
  }
};

// huber_backward.target(Tensor target, Tensor guess, Tensor grad, float delta) -> Tensor
struct HuberBackwardTarget : openreg::Elementwise {
  void meta(const Tensor& target, const Tensor& guess, const Tensor& grad, double) {
    iterate({target, guess, grad});
  }
  void impl(const Tensor&, const Tensor&, const Tensor&, double delta, const Tensor&) {
    launchElementwise(openreg::kernelFamily<"huber_backward">, *this, {1, delta});
  }
};

// log_sigmoid_backward.self(Tensor grad, Tensor self) -> Tensor
struct LogSigmoidBackwardSelf : openreg::Elementwise {
  void meta(const Tensor& grad, const Tensor& self) {
    iterate({grad, self});
  }
  void impl(const Tensor&, const Tensor&, const Tensor&) {
    launchElementwise(openreg::kernelFamily<"log_sigmoid_backward">, *this);
  }
};

} // namespace

Tensor entropy(const Tensor& self) {
  return openreg::callOperator<"acme::entropy", "">(entropy, self);
}

Tensor gate(const Tensor& a, const Tensor& b) {
  return openreg::callOperator<"acme::gate", "">(gate, a, b);
}

Tensor& gate_(Tensor& a, const Tensor& b) {
  return openreg::callOperator<"acme::gate_", "">(gate_, a, b);
}

Tensor& gate_out(const Tensor& a, const Tensor& b, Tensor& out) {
  return openreg::callOperator<"acme::gate", "out">(gate_out, a, b, out);
}

Tensor huber(const Tensor& guess, const Tensor& target, double delta) {
  return openreg::callOperator<"acme::huber", "">(huber, guess, target, delta);
}

Tensor& huber_out(const Tensor& guess, const Tensor& target, double delta, Tensor& out) {
  return openreg::callOperator<"acme::huber", "out">(huber_out, guess, target, delta, out);
}

Tensor celu(const Tensor& self, const at::Scalar& alpha) {
  return openreg::callOperator<"aten::celu", "">(celu, self, alpha);
}

Tensor& celu_(Tensor& self, const at::Scalar& alpha) {
  return openreg::callOperator<"aten::celu_", "">(celu_, self, alpha);
}

Tensor log_sigmoid(const Tensor& self) {
  return openreg::callOperator<"aten::log_sigmoid", "">(log_sigmoid, self);
}

Tensor& log_sigmoid_out(const Tensor& self, Tensor& out) {
  return openreg::callOperator<"aten::log_sigmoid", "out">(log_sigmoid_out, self, out);
}

Tensor gate_backward_a(const Tensor& grad, const Tensor& b) {
  return openreg::callOperator<"acme::gate_backward", "a">(gate_backward_a, grad, b);
}

Tensor gate_backward_b(const Tensor& grad, const Tensor& a, const Tensor& b) {
  return openreg::callOperator<"acme::gate_backward", "b">(gate_backward_b, grad, a, b);
}

Tensor huber_backward_guess(const Tensor& guess, const Tensor& target, const Tensor& grad, double delta) {
  return openreg::callOperator<"acme::huber_backward", "guess">(huber_backward_guess, guess, target, grad, delta);
}

Tensor huber_backward_target(const Tensor& target, const Tensor& guess, const Tensor& grad, double delta) {
  return openreg::callOperator<"acme::huber_backward", "target">(huber_backward_target, target, guess, grad, delta);
}

Tensor log_sigmoid_backward_self(const Tensor& grad, const Tensor& self) {
  return openreg::callOperator<"acme::log_sigmoid_backward", "self">(log_sigmoid_backward_self, grad, self);
}

TORCH_LIBRARY(acme, m) {
  m.def("entropy(Tensor self) -> Tensor");
  m.def("gate(Tensor a, Tensor b) -> Tensor");
  m.def("gate_(Tensor(a!) a, Tensor b) -> Tensor(a!)");
  m.def("gate.out(Tensor a, Tensor b, *, Tensor(a!) out) -> Tensor(a!)");
  m.def("huber(Tensor guess, Tensor target, float delta=1.0) -> Tensor");
  m.def("huber.out(Tensor guess, Tensor target, float delta=1.0, *, Tensor(a!) out) -> Tensor(a!)");
  m.def("gate_backward.a(Tensor grad, Tensor b) -> Tensor");
  m.def("gate_backward.b(Tensor grad, Tensor a, Tensor b) -> Tensor");
  m.def("huber_backward.guess(Tensor guess, Tensor target, Tensor grad, float delta) -> Tensor");
  m.def("huber_backward.target(Tensor target, Tensor guess, Tensor grad, float delta) -> Tensor");
  m.def("log_sigmoid_backward.self(Tensor grad, Tensor self) -> Tensor");
}

TORCH_LIBRARY_IMPL(acme, PrivateUse1, m) {
  m.impl("entropy", openreg::Structured<Entropy>::functional);
  m.impl("gate", openreg::Structured<Gate>::functional);
  m.impl("gate_", openreg::Structured<Gate>::inplace);
  m.impl("gate.out", openreg::Structured<Gate>::out);
  m.impl("huber", openreg::Structured<Huber>::functional);
  m.impl("huber.out", openreg::Structured<Huber>::out);
  m.impl("gate_backward.a", openreg::Structured<GateBackwardA>::functional);
  m.impl("gate_backward.b", openreg::Structured<GateBackwardB>::functional);
  m.impl("huber_backward.guess", openreg::Structured<HuberBackwardGuess>::functional);
  m.impl("huber_backward.target", openreg::Structured<HuberBackwardTarget>::functional);
  m.impl("log_sigmoid_backward.self", openreg::Structured<LogSigmoidBackwardSelf>::functional);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("celu", openreg::Structured<Celu>::functional);
  m.impl("celu_", openreg::Structured<Celu>::inplace);
  m.impl("log_sigmoid", openreg::Structured<LogSigmoid>::functional);
  m.impl("log_sigmoid.out", openreg::Structured<LogSigmoid>::out);
}

TORCH_LIBRARY_IMPL(acme, Meta, m) {
  m.impl("entropy", openreg::OnMeta<Entropy>::functional);
  m.impl("gate", openreg::OnMeta<Gate>::functional);
  m.impl("gate_", openreg::OnMeta<Gate>::inplace);
  m.impl("gate.out", openreg::OnMeta<Gate>::out);
  m.impl("huber", openreg::OnMeta<Huber>::functional);
  m.impl("huber.out", openreg::OnMeta<Huber>::out);
  m.impl("gate_backward.a", openreg::OnMeta<GateBackwardA>::functional);
  m.impl("gate_backward.b", openreg::OnMeta<GateBackwardB>::functional);
  m.impl("huber_backward.guess", openreg::OnMeta<HuberBackwardGuess>::functional);
  m.impl("huber_backward.target", openreg::OnMeta<HuberBackwardTarget>::functional);
  m.impl("log_sigmoid_backward.self", openreg::OnMeta<LogSigmoidBackwardSelf>::functional);
}

TORCH_LIBRARY_IMPL(acme, Functionalize, m) {
  m.impl("gate_", openreg::Assigned<gate>::inplace);
  m.impl("gate.out", openreg::Assigned<gate>::out);
  m.impl("huber.out", openreg::Assigned<huber>::out);
}

} // namespace acme
