// Operators that go to the CPU by name, in place of PyTorch's own choice.
#include "fallback/fallback.h"

#include <torch/library.h>

namespace openreg {
namespace {

constexpr const char* kByName[] = {
    // The functional form of a structured operator is no operator of the fallback's: PyTorch computes the result's
    // metadata, allocates it and calls the .out form, which falls back and moves one tensor more in both directions.
    // Registered by name, the functional form goes to the CPU itself. This loss needs it, not only for speed: its .out
    // form resizes, and would warn about it.
    "smooth_l1_loss",
    // The CPU has no kernel of these names. PyTorch's own kernel, which comes before the fallback, says just that.
    "_thnn_fused_gru_cell",
    "_thnn_fused_gru_cell_backward",
    "_thnn_fused_lstm_cell",
    "_thnn_fused_lstm_cell_backward_impl",
    "convolution_backward_overrideable",
    "convolution_overrideable",
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const auto* name : kByName) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&fallback>());
  }
}

} // namespace
} // namespace openreg
