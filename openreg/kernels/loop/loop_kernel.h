// Kernels of one loop, each iteration of which stands alone.
#pragma once

#include <type_traits>

#include "kernels/loop/element.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

// LITERALINCLUDE START: LOOP KERNEL
/// A kernel out of a loop L, which is made of the launch's arguments and of nothing in device memory:
///
///     static const char* refusal(const Args&)            why it can't be made of these; null if it can
///     explicit L(const Args&)
///     int64_t count() const                              how many iterations there are
///     void operator()(int64_t begin, int64_t end) const  does those of [begin, end), in any thread;
///                                                        with an orKernelContext& behind them, it may fail
///     int64_t grain() const                              how many are worth a thread, if not as many as of elements
///
/// Iterations share nothing that one of them writes. So a processor's threads take long pieces of them, and a GPU's one
/// iteration each.
template <class Args, class L>
struct LoopKernel {
  static void run(const void* bytes, orKernelContext* context) {
    const auto& args = *static_cast<const Args*>(bytes);
    if (const char* why = L::refusal(args); why != nullptr) {
      return context->fail(context, orErrorInvalidValue, why);
    }
    struct State {
      const L loop;
      orKernelContext& context;
    } state{L(args), *context};
    int64_t grain = kGrain;
    if constexpr (requires { state.loop.grain(); }) {
      grain = state.loop.grain();
    }
    context->parallelFor(
        context, state.loop.count(), grain,
        [](void* bytes, int64_t begin, int64_t end) {
          const auto& [loop, context] = *static_cast<const State*>(bytes);
          if constexpr (std::is_invocable_v<const L&, int64_t, int64_t, orKernelContext&>) {
            loop(begin, end, context);
          } else {
            loop(begin, end);
          }
        },
        &state);
  }
};
// LITERALINCLUDE END: LOOP KERNEL

/// A row is an iteration as any other here.
template <class Args, class L>
using RowKernel = LoopKernel<Args, L>;

/// One kernel after the other: each is done when its threads have come back.
template <class... Kernel>
struct InOrder {
  static void run(const void* args, orKernelContext* context) { (Kernel::run(args, context), ...); }
};

} // namespace openreg::kernels
