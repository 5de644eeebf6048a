// The kernels "dot.…": the sum of products of two vectors' elements.
#include "kernels/linalg/dot.h"

#include <algorithm>

#include "kernels/loop/parts.h"
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

/// In parts of one size, whose sums are added in their order.
template <class C>
class DotOfParts : public EachPart<DotArgs> {
 public:
  using EachPart::EachPart;
  void operator()(int64_t begin, int64_t end) const {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t at = part * DotArgs::kPart;
      const auto sum = dotOf(
          static_cast<const C*>(args_.first) + at, static_cast<const C*>(args_.second) + at,
          std::min(DotArgs::kPart, args_.count - at), args_.conjugates != 0);
      if (count() == 1) {
        *static_cast<C*>(args_.result) = C(sum);
      } else {
        reinterpret_cast<Accumulator<C>*>(args_.sums)[part] = sum;
      }
    }
  }
};

template <class C>
class SumOfParts : public AllParts<DotArgs> {
 public:
  using AllParts::AllParts;
  void operator()(int64_t /*begin*/, int64_t /*end*/) const {
    Accumulator<C> total(0);
    for (int64_t part = 0; part < args_.parts(); ++part) {
      total += reinterpret_cast<const Accumulator<C>*>(args_.sums)[part];
    }
    *static_cast<C*>(args_.result) = C(total);
  }
};

template <Name name, class C>
using Dot = Phases<fullName<name, C>(), DotArgs, RowKernel<DotArgs, DotOfParts<C>>, LoopKernel<DotArgs, SumOfParts<C>>>;

template <Name name, class... C>
class Dots : public Dot<name, C>... {};

const Dots<"dot", int64_t, float, double, Complex<float>, Complex<double>> kDot;

} // namespace

} // namespace openreg::kernels
