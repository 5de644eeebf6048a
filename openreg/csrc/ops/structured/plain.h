// Operators that are plain functions: what PyTorch's code generator does before it calls them.
#pragma once

#include "device/current_device.h"
#include "ops/launch/name.h"
#include "ops/structured/native.h"
#include "ops/structured/structured_output.h"

#include <torch/library.h>

#include <utility>

namespace openreg {

// LITERALINCLUDE START: PLAIN
/** @brief The form with a given output, of a function that makes one: IntoOutput<im2col>::call. */
template <auto function>
struct IntoOutput;
/// @cond the reference has the declaration
template <class... A, at::Tensor (*function)(A...)>
struct IntoOutput<function> {
  static at::Tensor& call(A... arguments, at::Tensor& out) { return copyResult(function(arguments...), out); }
};
/// @endcond

/// A function, called on the device of its tensors, which have to be on one.
template <Name op, auto function>
struct Plain;

template <Name op, class R, class... A, R (*function)(A...)>
struct Plain<op, function> {
  static R call(A... arguments) {
    SameDevice device(op.value);
    device.all(arguments...);
    CurrentDevice current;
    if (const auto common = device.common()) {
      current.set(common->index());
    }
    return function(std::forward<A>(arguments)...);
  }
};

/**
 * @brief Registers a function for an operator: `implPlain<"im2col.out", im2colOut>(m)`.
 *
 * The arguments are on one device when the function is called, and that device is current. Registered by implNative()
 * alone a function has to see to both itself.
 * @tparam op Name with overload; in the namespace aten, if none is named.
 * @tparam function With the operator's parameters.
 * @param m Library fragment of the operator's namespace.
 */
template <Name op, auto function>
void implPlain(torch::Library& m) {
  implNative(m, op.value, &Plain<op, function>::call);
}
// LITERALINCLUDE END: PLAIN

} // namespace openreg
