// kaiser_window: PyTorch makes the numbers 0, 1, ..., and one elementwise kernel makes the window of them.
#include "ops/launch/elementwise.h"
#include "ops/structured/native.h"

#include <ATen/native/UnaryOps.h>
#include <ATen/ops/kaiser_window_native.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace openreg {
namespace {

void kaiserKernel(at::TensorIteratorBase& iter, int64_t length, double beta) {
  // A parameter must be a number of the type that is computed in; so large a beta makes no difference.
  const double most =
      iter.common_dtype() == at::kDouble ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  launchElementwise(
      kernelFamily<"kaiser_window">, iter,
      {2.0 / static_cast<double>(length - 1), std::isinf(beta) ? beta : std::clamp(beta, -most, most)});
}

// PyTorch's functions, which call the kernel above: registered, so that a call without that kernel has an operator
// whose arguments the fallback can have.
using Dtype = std::optional<at::ScalarType>;
using Layout = std::optional<at::Layout>;
using Device = std::optional<at::Device>;
using Pinned = std::optional<bool>;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  using at::native::kaiser_window;
  implNative<at::Tensor, int64_t, Dtype, Layout, Device, Pinned>(m, "kaiser_window", kaiser_window);
  implNative<at::Tensor, int64_t, bool, Dtype, Layout, Device, Pinned>(m, "kaiser_window.periodic", kaiser_window);
  implNative<at::Tensor, int64_t, bool, double, Dtype, Layout, Device, Pinned>(m, "kaiser_window.beta", kaiser_window);
}

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(kaiser_window_stub, &openreg::kaiserKernel)
} // namespace at::native
