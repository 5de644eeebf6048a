// Elementwise kernels that a copy may need: a change of type alone, or with conjugation or negation.
#include "kernels/loop/elementwise.h"

namespace openreg::kernels {

namespace {

/// Loads and stores convert, so nothing is left to do.
template <class C>
struct Cast {
  C operator()(C a) const { return a; }
};

template <class C>
struct Conjugate {
  C operator()(C a) const { return std::conj(a); }
};

template <class C>
struct Negate {
  C operator()(C a) const { return -a; }
};

const Elementwise<"cast", Cast, bool, int64_t, uint64_t, float, double, Complex<float>, Complex<double>> kCast;
const Elementwise<"conj", Conjugate, Complex<float>, Complex<double>> kConjugate;
const Elementwise<"neg", Negate, int64_t, uint64_t, float, double, Complex<float>, Complex<double>> kNegate;

} // namespace

} // namespace openreg::kernels
