// Serving an operator on the CPU: for all operators without a kernel, and for a few in place of PyTorch's own choice.
#include "fallback/cpu_fallback.h"

#include "fallback/policy.h"
#include "fallback/same_device.h"

#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

namespace openreg {

// LITERALINCLUDE START: CPU FALLBACK
void cpuFallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  checkSameDevice(op, *stack);
  admitFallback(op.operator_name());
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}
// LITERALINCLUDE END: CPU FALLBACK

namespace {

// LITERALINCLUDE START: FALLBACK GLOBAL
// "_" is every namespace: whatever reaches this backend and finds neither a kernel of ours nor one of PyTorch's that is
// written in terms of other operators.
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&cpuFallback>());
}
// LITERALINCLUDE END: FALLBACK GLOBAL

// LITERALINCLUDE START: FALLBACK OPERATOR
// The functional form of a structured operator is one of those: PyTorch computes the result's metadata, allocates it
// and calls the .out form, which falls back and moves one tensor more in both directions. Registered by name, the
// functional form goes to the CPU itself. mse_loss needs it, not only for speed: its .out form resizes, and would warn
// about it.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("mse_loss", torch::CppFunction::makeFromBoxedFunction<&cpuFallback>());
}
// LITERALINCLUDE END: FALLBACK OPERATOR

} // namespace
} // namespace openreg
