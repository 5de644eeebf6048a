// The fallback: one kernel for every operator that has none here, and the CPU, which serves it by default.
#include "fallback/fallback.h"

#include "fallback/policy.h"
#include "fallback/same_device.h"

#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

namespace openreg {

// LITERALINCLUDE START: FALLBACK
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  checkSameDevice(op, *stack);
  const auto serve = admitFallback(op.operator_name());
  serve(op, stack);
}

namespace {

const FallbackMode cpu("cpu", [](const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
});
// LITERALINCLUDE END: FALLBACK

// LITERALINCLUDE START: FALLBACK GLOBAL
// "_" is every namespace: whatever reaches this backend and finds neither a kernel of ours nor one of PyTorch's that is
// written in terms of other operators.
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}
// LITERALINCLUDE END: FALLBACK GLOBAL

} // namespace
} // namespace openreg
