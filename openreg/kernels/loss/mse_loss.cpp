// Elementwise kernels: losses of single elements.
#include "kernels/loop/elementwise.h"

namespace openreg::kernels {

namespace {

template <class C>
struct SquaredError {
  C operator()(C input, C target) const { return (input - target) * (input - target); }
};

template <class C>
struct SquaredErrorBackward {
  C factor;
  C operator()(C input, C target, C grad) const { return factor * (input - target) * grad; }
};

const Elementwise<SquaredError, float, double> kSquaredError("mse");
const Elementwise<SquaredErrorBackward, float, double> kSquaredErrorBackward("mse_backward");

} // namespace

} // namespace openreg::kernels
