// Operators that go to the CPU by name, in place of PyTorch's own choice.
#include "fallback/fallback.h"

#include <torch/library.h>

namespace openreg {
namespace {

// LITERALINCLUDE START: FALLBACK OPERATOR
// The functional form of a structured operator is no such operator: PyTorch computes the result's metadata, allocates
// it and calls the .out form, which falls back and moves one tensor more in both directions. Registered by name, the
// functional form goes to the CPU itself. These losses need it, not only for speed: their .out forms
// resize, and would warn about it.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("mse_loss", torch::CppFunction::makeFromBoxedFunction<&fallback>());
  m.impl("smooth_l1_loss", torch::CppFunction::makeFromBoxedFunction<&fallback>());
}
// LITERALINCLUDE END: FALLBACK OPERATOR

} // namespace
} // namespace openreg
