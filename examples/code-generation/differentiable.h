// What generated gradients have in common: the forms of an operator where gradients are wanted.
#pragma once

#include "elementwise.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace openreg {

inline bool wantsGradient(const at::Tensor& argument) {
  return argument.requires_grad();
}
template <class T>
bool wantsGradient(const T& /*no tensor*/) {
  return false;
}

// LITERALINCLUDE START: GENERATED GRADIENT
/// A form of an operator with a gradient. @tparam Gradient The autograd function. @tparam form The form, as C++ calls
/// it.
template <class Gradient, auto form>
struct Differentiable;

template <class Gradient, class... A, at::Tensor (*form)(A...)>
struct Differentiable<Gradient, form> {
  static at::Tensor functional(A... arguments) { return Gradient::apply(arguments...); }
};

template <class Gradient, class... A, at::Tensor& (*form)(at::Tensor&, A...)>
struct Differentiable<Gradient, form> {
  /// A gradient may need what is overwritten here, so it keeps a copy, and the result is computed beside it.
  static at::Tensor& inplace(at::Tensor& self, A... rest) {
    if (at::GradMode::is_enabled() && (wantsGradient(self) || ... || wantsGradient(rest))) {
      return assign(self, Gradient::apply(self.clone(), rest...));
    }
    const at::AutoDispatchBelowAutograd guard;
    return form(self, rest...);
  }
};
// LITERALINCLUDE END: GENERATED GRADIENT

} // namespace openreg
