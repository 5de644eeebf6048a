// The kernels "dot.…": the sum of products of two vectors' elements.
#include "kernels/linalg/dot.h"

#include <vector>

#include "kernels/launch/registry.h"
#include "kernels/loop/element.h"
#include "kernels/math/complex_math.h"
#include "kernels/normalization/row_sums.h"

namespace openreg::kernels {

namespace {

/// Σ x · y of a part, summed wider than its numbers are.
template <class C>
Accumulator<C> dotOf(const C* x, const C* y, int64_t count, bool conjugates) {
  if constexpr (std::is_floating_point_v<C>) {
    return productsOf(x, C(0), y, count);
  } else {
    using S = Accumulator<C>;
    return sumQuickly<S>(count, [=](int64_t i) { return (conjugates ? math::conjugate(S(x[i])) : S(x[i])) * S(y[i]); });
  }
}

/// In parts of one size, whose sums are added in their order: the result does not depend on how many threads there are.
template <class C>
struct Dot {
  struct Loop {
    const DotArgs& args;
    std::vector<Accumulator<C>> sums;
  };

  void operator()(const DotArgs& args, orKernelContext& context) const {
    const int64_t parts = (args.count + kGrain - 1) / kGrain;
    Loop loop{args, std::vector<Accumulator<C>>(static_cast<size_t>(parts))};
    context.parallelFor(
        &context, parts, 1,
        [](void* state, int64_t begin, int64_t end) {
          auto& [args, sums] = *static_cast<Loop*>(state);
          for (int64_t part = begin; part < end; ++part) {
            const int64_t at = part * kGrain;
            sums[static_cast<size_t>(part)] = dotOf(
                static_cast<const C*>(args.first) + at, static_cast<const C*>(args.second) + at,
                std::min(kGrain, args.count - at), args.conjugates != 0);
          }
        },
        &loop);
    Accumulator<C> total(0);
    for (const auto& sum : loop.sums) {
      total += sum;
    }
    *static_cast<C*>(args.result) = C(total);
  }
};

const RegisterTypes<"dot", DotArgs, Dot, int64_t, float, double, Complex<float>, Complex<double>> kDot;

} // namespace

} // namespace openreg::kernels
