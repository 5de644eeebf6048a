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

const Elementwise<"mse", SquaredError, float, double> kSquaredError;
const Elementwise<"mse_backward", SquaredErrorBackward, float, double> kSquaredErrorBackward;

} // namespace

} // namespace openreg::kernels
