// Functors: what a kernel does with one element, apart from all that kernels have in common.
#pragma once

#include <cstring>
#include <tuple>
#include <type_traits>

#include "kernels/launch/operand.h"

namespace openreg::kernels {

/// What a functor's call operator takes and gives.
template <class Call>
struct Signature;
template <class F, class R, class... A>
struct Signature<R (F::*)(A...) const> {
  using Result = R;
  using Inputs = std::tuple<A...>;
  static constexpr int kInputs = sizeof...(A);
};

/// A functor with its fields as the launch gave them. All fields are of the type that it computes in.
template <class F>
F makeFunctor(const void* parameters) {
  static_assert(std::is_trivially_copyable_v<F> && sizeof(F) <= sizeof(StridedArgs::parameters));
  F functor;
  if constexpr (!std::is_empty_v<F>) {
    std::memcpy(&functor, parameters, sizeof(F));
  }
  return functor;
}

} // namespace openreg::kernels
