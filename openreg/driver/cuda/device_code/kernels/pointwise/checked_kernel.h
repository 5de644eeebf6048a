// Kernels of integers that may have to divide by 0, on a GPU, which doesn't mind: each thread looks at the divisors
// that it then divides by, and what it writes after a report is read by nobody.
#pragma once

#include "kernels/loop/elementwise.h"

namespace openreg::kernels {

/// A kernel of integers that fails if a divisor is 0.
template <class F>
struct CheckedKernel {
  static void run(const void* bytes, orKernelContext* context) {
    const auto& args = *static_cast<const StridedArgs*>(bytes);
    if (args.operands == 3 && args.dims >= 0 && args.dims <= kMaxOperandDims) {
      const View divisor = viewOf(args, 2);
      context->forEach(divisor.isSingle ? 1 : args.elements(), [&](int64_t i) {
        int64_t offsets[3];
        locate(args, static_cast<uint64_t>(i), offsets);
        if (loadOne<C>(divisor.dtype, static_cast<const char*>(divisor.data) + offsets[2]) == 0) {
          context->fail(orErrorAssert, "ZeroDivisionError: an integer was divided by 0");
        }
      });
    }
    ElementwiseKernel<NeverByZero>::run(bytes, context);
  }

 private:
  using C = typename Signature<decltype(&F::operator())>::Result;
  struct NeverByZero : F {
    C operator()(C a, C b) const { return b == C(0) ? C(0) : F::operator()(a, b); }
  };
};

} // namespace openreg::kernels
