// Elementwise kernels: comparisons.
#include "kernels/loop/elementwise.h"

namespace openreg::kernels {

namespace {

template <class C>
struct Equal {
  bool operator()(C a, C b) const { return a == b; }
};

const Elementwise<"eq", Equal, bool, int64_t, uint64_t, float, double, Complex<float>, Complex<double>> kEqual;

} // namespace

} // namespace openreg::kernels
