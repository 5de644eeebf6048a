// Elementwise kernel: the factor that brings a vector's norm to a limit.
#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

template <class C>
struct NormFactor {
  C limit;

  C operator()(C norm) const { return norm > limit ? limit / (norm + C(1e-7)) : C(1); }
};

const Elementwise<NormFactor, float, double> kNormFactor("renorm_scale_factor");

} // namespace

} // namespace openreg::kernels
