// Operators that compute on the device, if the driver has their kernels, and else on the CPU.
#include "ops/structured/native.h"

#include "fallback/policy.h"
#include "fallback/same_device.h"

#include <algorithm>
#include <exception>

namespace openreg {

c10::OperatorName operatorNamed(const std::string& text) {
  const auto name = text.find("::") == std::string::npos ? "aten::" + text : text;
  const auto dot = std::min(name.find('.'), name.size());
  return {name.substr(0, dot), name.substr(std::min(dot + 1, name.size()))};
}

// LITERALINCLUDE START: MISSING KERNEL FALLBACK
void fallbackForMissingKernel(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto missing = std::current_exception();
  checkSameDevice(op, *stack);
  ServeFallback serve = nullptr;
  try {
    serve = admitFallback(op.operator_name());
  } catch (const c10::NotImplementedError&) {
    std::rethrow_exception(missing); // says what the driver lacks, and so what to do about it
  }
  serve(op, stack);
}
// LITERALINCLUDE END: MISSING KERNEL FALLBACK

} // namespace openreg
