// Launching elementwise kernels.
#include "ops/launch/elementwise.h"

#include "ops/launch/strided_launch.h"

namespace openreg {

// LITERALINCLUDE START: LAUNCH ELEMENTWISE CODE
void launchElementwise(
    const KernelFamily& family,
    const at::TensorIteratorBase& iter,
    c10::ScalarType type,
    std::initializer_list<c10::Scalar> parameters) {
  // Asked first, so that a wrong type is an error for empty tensors, too.
  const auto& kernel = family.get(type, iter.device(0).index());
  if (iter.numel() == 0) {
    return;
  }
  StridedLaunch launch(iter, type, family.name());
  launch.setParameters(parameters);
  launch.on(kernel);
}
// LITERALINCLUDE END: LAUNCH ELEMENTWISE CODE

} // namespace openreg
