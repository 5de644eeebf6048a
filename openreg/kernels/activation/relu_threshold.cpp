// Elementwise kernels: what networks put behind their layers, and its derivatives.
#include "kernels/loop/elementwise.h"

namespace openreg::kernels {

namespace {

/// relu is clamp_min with 0. NaN is less than nothing and stays.
template <class C>
struct ClampMin {
  C min;
  C operator()(C x) const { return x < min ? min : x; }
};

/// threshold(x, t, v) with `other` = x; the backward of relu and of threshold with the gradient.
template <class C>
struct Threshold {
  C threshold;
  C value;
  C operator()(C x, C other) const { return x <= threshold ? value : other; }
};

const Elementwise<"clamp_min", ClampMin, int64_t, uint64_t, float, double> kClampMin;
const Elementwise<"threshold", Threshold, int64_t, uint64_t, float, double> kThreshold;

} // namespace

} // namespace openreg::kernels
