// Kernels of one loop on a GPU: a thread does an iteration at a time.
#pragma once

#include <type_traits>

#include "kernels/loop/element.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

// LITERALINCLUDE START: GPU LOOP
/// A kernel out of a loop L: see the file of this name among the kernels.
template <class Args, class L>
struct LoopKernel {
  static void run(const void* bytes, orKernelContext* context) {
    const auto& args = *static_cast<const Args*>(bytes);
    if (const char* why = L::refusal(args); why != nullptr) {
      return context->fail(context, orErrorInvalidValue, why);
    }
    const L loop(args);
    context->forEach(loop.count(), [&](int64_t i) {
      if constexpr (std::is_invocable_v<const L&, int64_t, int64_t, orKernelContext&>) {
        loop(i, i + 1, *context);
      } else {
        loop(i, i + 1);
      }
    });
  }
};

/// A kernel out of a loop over rows: a block of threads does a row at a time.
template <class Args, class L>
struct RowKernel {
  static void run(const void* bytes, orKernelContext* context) {
    const auto& args = *static_cast<const Args*>(bytes);
    if (const char* why = L::refusal(args); why != nullptr) {
      return context->fail(context, orErrorInvalidValue, why);
    }
    const L loop(args);
    const int64_t rows = loop.count();
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
      if constexpr (std::is_invocable_v<const L&, int64_t, int64_t, orKernelContext&>) {
        loop(row, row + 1, *context);
      } else {
        loop(row, row + 1);
      }
    }
  }
};
// LITERALINCLUDE END: GPU LOOP

// LITERALINCLUDE START: GPU PHASES
/// One kernel after the other: only the end of a launch tells that all blocks are done, so each is a launch.
template <class... Kernel>
struct InOrder {
  static void run(const void* args, orKernelContext* context) {
    int phase = 0;
    ((phase++ == context->services.phase ? Kernel::run(args, context) : void()), ...);
  }
};
// LITERALINCLUDE END: GPU PHASES

} // namespace openreg::kernels
