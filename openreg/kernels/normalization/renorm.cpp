// Elementwise kernel: the factor that brings a vector's norm to a limit.
#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

template <class C>
struct NormFactor {
  C limit;

  C operator()(C norm) const { return norm > limit ? limit / (norm + C(1e-7)) : C(1); }
};

const Elementwise<"renorm_scale_factor", NormFactor, float, double> kNormFactor;

} // namespace

} // namespace openreg::kernels
