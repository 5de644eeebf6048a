// Kernels of integers that may have to divide by 0.
#pragma once

#include "kernels/loop/elementwise.h"

namespace openreg::kernels {

// LITERALINCLUDE START: CHECKED KERNEL
/// A kernel of integers that fails if a divisor is 0. The processor would end the process.
template <class F>
struct CheckedKernel {
  static void run(const void* bytes, orKernelContext* context) {
    const auto& args = *static_cast<const StridedArgs*>(bytes);
    Search search{args, false};
    if (args.operands == 3 && args.dims >= 0 && args.dims <= kMaxOperandDims) {
      context->parallelFor(context, args.elements(), kGrain, &findZero, &search);
    }
    if (search.found) {
      return context->fail(context, orErrorAssert, "ZeroDivisionError: an integer was divided by 0");
    }
    ElementwiseKernel<F>::run(bytes, context);
  }

 private:
  using C = Signature<decltype(&F::operator())>::Result;
  struct Search {
    const StridedArgs& args;
    bool found;
  };

  static void findZero(void* state, int64_t begin, int64_t end) {
    auto& search = *static_cast<Search*>(state);
    const Piece piece{search.args, 2, begin, end};
    Lane<C> divisors(piece);
    bool found = false;
    for (int64_t at = begin; at < end;) {
      const int64_t count = piece.room(at, kBlock);
      const C* divisor = divisors.read(count);
      for (int64_t i = 0; i < count; ++i) {
        found |= divisor[i] == 0;
      }
      at += count;
    }
    if (found) {
      __atomic_store_n(&search.found, true, __ATOMIC_RELAXED); // by several threads
    }
  }
};
// LITERALINCLUDE END: CHECKED KERNEL

} // namespace openreg::kernels
