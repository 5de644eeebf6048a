// The loop over a list of tensors, out of the loop over one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/loop/lists.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

static_assert(sizeof(ListArgs) == OPENREG_MAX_ARGUMENT_BYTES);

/// Calls `use(tensor, begin, end)` for the parts of tensors that lie in [begin, end) of all their elements in a row.
template <class Count, class Use>
void eachPart(int tensors, Count count, int64_t begin, int64_t end, Use use) {
  for (int i = 0; i < tensors && end > 0; ++i) {
    const int64_t size = count(i);
    if (begin < size) {
      use(i, std::max(begin, int64_t{0}), std::min(end, size));
    }
    begin -= size;
    end -= size;
  }
}

/// A loop over a piece of an elementwise kernel's operands, as parallelFor takes it; its state are StridedArgs.
using ElementwiseLoop = void (*)(void* args, int64_t begin, int64_t end);

/// Runs the loop for each tensor of a list. @param operands As many as the kernel has, the output included.
void runList(const ListArgs& args, int operands, ElementwiseLoop loop, orKernelContext* context);

} // namespace openreg::kernels
