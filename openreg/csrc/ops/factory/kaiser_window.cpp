// kaiser_window: PyTorch makes the numbers 0, 1, ..., and one elementwise kernel makes the window of them.
#include "ops/launch/elementwise.h"

#include <ATen/native/UnaryOps.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

} // namespace
} // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(kaiser_window_stub, &openreg::kaiserKernel)
} // namespace at::native
