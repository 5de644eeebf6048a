// The kernel "zeros", which lists of tensors need.
#include "kernels/loop/functors.h"

namespace openreg::kernels {

namespace {

/// `x.zero_()`: what was there does not matter, not even a NaN.
const Unary<"zeros", []([[maybe_unused]] auto x) { return decltype(x)(0); }, NumbersAndBool> kZeros;

} // namespace

} // namespace openreg::kernels
