// Registering operators that compute on the device, if the driver has their kernels, and else on the CPU.
#pragma once

#include "ops/launch/missing_kernel.h"

#include <ATen/core/boxing/BoxedKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <utility>

namespace openreg {

// LITERALINCLUDE START: NATIVE
/** @brief The name of an operator out of its text, "mm.out"; in the namespace aten, if none is named. */
C10_EXPORT c10::OperatorName operatorNamed(const std::string& text);

/**
 * @brief Boxed kernel for a call that has met a MissingKernel, and is to be called while that is being handled.
 *
 * The fallback serves the call and counts it. Where fallbacks are refused, the MissingKernel is the error.
 */
C10_EXPORT void fallbackForMissingKernel(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// An operator's function, and the fallback for the arguments that the driver has no kernel for.
template <class Function>
class Native;

template <class R, class... A>
class Native<R(A...)> {
 public:
  Native(c10::OperatorName op, R (*function)(A...)) : op_(std::move(op)), function_(function) {}

  R operator()(A... arguments) const {
    try {
      return function_(arguments...); // which stay as they are, for a second call
    } catch (const MissingKernel&) {
      return c10::impl::BoxedKernelWrapper<R(A...)>::call(
          c10::BoxedKernel::makeFromFunction<&fallbackForMissingKernel>(),
          c10::Dispatcher::singleton().findSchemaOrThrow(op_.name.c_str(), op_.overload_name.c_str()),
          c10::DispatchKeySet(), std::forward<A>(arguments)...);
    }
  }

 private:
  c10::OperatorName op_;
  R (*function_)(A...);
};

/**
 * @brief Registers a function for an operator: `implNative(m, "relu", relu)`.
 *
 * What a driver lacks the fallback computes, which starts from the operator's arguments. So a function that changes its
 * arguments looks up all its kernels before it launches the first: what it has begun nobody can finish.
 * @param m Library fragment of the operator's namespace.
 * @param op Name with overload.
 * @param function With the operator's parameters. It may throw MissingKernel.
 */
template <class R, class... A>
void implNative(torch::Library& m, const char* op, R (*function)(A...)) {
  m.impl(op, Native<R(A...)>(operatorNamed(op), function));
}
// LITERALINCLUDE END: NATIVE

} // namespace openreg
