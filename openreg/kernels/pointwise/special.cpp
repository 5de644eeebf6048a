// Elementwise kernels: special functions.
#include "kernels/math/special_math.h"

#include <cmath>

#include "kernels/loop/convert.h"
#include "kernels/loop/functors.h"
#include "kernels/math/vector_math.h"

namespace openreg::kernels {

namespace {

/// sin(pi x) / (pi x)
template <class C>
C sinc(C x) {
  const C angle = x * C(std::numbers::pi);
  return x == C(0) ? C(1) : std::sin(angle) / angle;
}

template <class C>
C entropy(C x) {
  return x > C(0) ? -x * std::log(x) : (x == C(0) ? C(0) : (x < C(0) ? C(-math::kInfinity) : x));
}

template <double (*f)(double)>
struct InDouble {
  template <class C>
  struct Functor {
    C operator()(C x) const { return static_cast<C>(f(static_cast<double>(x))); }
  };
};
template <double (*f)(double)>
using Special = ElementwiseOf<InDouble<f>::template Functor, Floats>;

/// Floats by a polynomial that whole vectors go through; double as exactly as it can be.
template <class C>
C inverseErf(C x) {
  if constexpr (std::is_same_v<C, float>) {
    return math::inverseErfOfFloat(x);
  } else {
    return math::inverseErf(x);
  }
}
double scaledI0(double x) {
  return math::scaledBesselI(0, x);
}
double scaledI1(double x) {
  return math::scaledBesselI(1, x);
}
double i0(double x) {
  return std::fabs(x) == math::kInfinity ? math::kInfinity : math::scaledBesselI(0, x) * std::exp(std::fabs(x));
}
double i1(double x) {
  return std::fabs(x) == math::kInfinity ? x : math::scaledBesselI(1, x) * std::exp(std::fabs(x));
}

const Unary<[](auto x) { return std::erf(x); }, Floats> kErf("erf");
const Unary<[](auto x) { return std::erfc(x); }, Floats> kErfc("erfc");
const Unary<[](auto x) { return sinc(x); }, FloatsAndComplex> kSinc("sinc");
const Unary<[](auto x) { return entropy(x); }, Floats> kEntropy("special_entr");
const Unary<[](auto x) { return inverseErf(x); }, Floats> kInverseErf("erfinv");
const Special<math::logGamma> kLogGamma("lgamma");
const Special<math::digamma> kDigamma("digamma");
const Special<math::trigamma> kTrigamma("trigamma");
const Special<math::normalQuantile> kNormalQuantile("special_ndtri");
const Special<math::logNormalShare> kLogNormalShare("special_log_ndtr");
const Special<math::scaledErfc> kScaledErfc("special_erfcx");
const Special<i0> kI0("i0");
const Special<scaledI0> kScaledI0("special_i0e");
const Special<i1> kI1("special_i1");
const Special<scaledI1> kScaledI1("special_i1e");

template <class C>
struct Polygamma {
  C order;
  C operator()(C x) const {
    return static_cast<C>(math::polygamma(static_cast<double>(order), static_cast<double>(x)));
  }
};
const ElementwiseOf<Polygamma, Floats> kPolygamma("polygamma");

const Binary<
    [](auto s, auto x) { return decltype(x)(math::zeta(static_cast<double>(s), static_cast<double>(x))); },
    Floats>
    kZeta("special_zeta");

} // namespace

} // namespace openreg::kernels
