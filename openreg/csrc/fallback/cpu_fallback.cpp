// Serving an operator on the CPU, or on the device if it can and that is wished: any operator without a kernel.
#include "fallback/cpu_fallback.h"

#include "fallback/device_fallback.h"
#include "fallback/policy.h"
#include "fallback/same_device.h"

#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

namespace openreg {

// LITERALINCLUDE START: CPU FALLBACK
void cpuFallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  checkSameDevice(op, *stack);
  if (admitFallback(op.operator_name()) == "device") {
    return deviceFallback(op, stack);
  }
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

} // namespace
} // namespace openreg
