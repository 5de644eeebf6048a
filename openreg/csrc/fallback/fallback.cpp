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

void serveOnCpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto device = deviceOf(op, *stack);
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
  // It takes results to the device of the first tensor that it was given. In `1 // x` that is a number on the CPU.
  const auto& returns = op.schema().returns();
  for (size_t i = 0; device.has_value() && i < returns.size(); ++i) {
    auto& result = *(stack->end() - static_cast<std::ptrdiff_t>(returns.size() - i));
    if (result.isTensor() && returns[i].alias_info() == nullptr && result.toTensor().defined()) {
      result = result.toTensor().to(*device);
    }
  }
}

namespace {

const FallbackMode cpu("cpu", serveOnCpu);
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
