// Kernels that work on each plane of an image by itself, in the host's threads.
#pragma once

#include "kernels/image/spans.h"
#include "kernels/loop/element.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// Calls `use(plane)` for each plane, several at a time. @param work About how many elements are touched in a plane.
template <class Use>
void forEachPlane(orKernelContext& context, int64_t planes, int64_t work, Use use) {
  context.parallelFor(
      &context, planes, grainOfRows(work),
      [](void* state, int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; ++plane) {
          (*static_cast<Use*>(state))(plane);
        }
      },
      &use);
}

} // namespace openreg::kernels
