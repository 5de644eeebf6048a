// Launching reductions.
#include "ops/reduction/reduce.h"

#include "ops/launch/strided_launch.h"

namespace openreg {

// LITERALINCLUDE START: LAUNCH REDUCE CODE
void launchReduce(
    const KernelFamily& family, const at::TensorIteratorBase& iter, std::initializer_list<c10::Scalar> parameters) {
  const auto type = iter.input_dtype();
  const auto& kernel = family.get(type, iter.device(0).index());
  if (iter.numel() == 0) {
    return;
  }
  StridedLaunch launch(iter, type, family.name());
  launch.setParameters(parameters);
  launch.on(kernel);
}
// LITERALINCLUDE END: LAUNCH REDUCE CODE

} // namespace openreg
