// Elementwise kernels: special functions.
#include "kernels/math/special_math.h"

#include <cmath>

#include "kernels/loop/convert.h"
#include "kernels/loop/functors.h"
#include "kernels/math/vector_special.h"

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

/// Floats by a form that whole vectors go through; double as exactly as it can be.
template <float (*ofFloat)(float), double (*ofDouble)(double)>
struct ByType {
  template <class C>
  struct Functor {
    OPENREG_INLINE C operator()(C x) const {
      if constexpr (std::is_same_v<C, float>) {
        return ofFloat(x);
      } else {
        return ofDouble(x);
      }
    }
  };
};
template <Name name, float (*ofFloat)(float), double (*ofDouble)(double)>
using Special = ElementwiseOf<name, ByType<ofFloat, ofDouble>::template Functor, Floats>;

template <double (*f)(double)>
OPENREG_INLINE inline float inDouble(float x) {
  return static_cast<float>(f(x));
}
/// Both in double.
template <Name name, double (*f)(double)>
using InDouble = Special<name, inDouble<f>, f>;

template <class C>
struct LogGamma {
  C operator()(C x) const { return math::logGamma(x); }
};
template <>
struct LogGamma<float> {
  struct Quick {
    OPENREG_INLINE float operator()(float x) const { return math::logGammaOfFloat<false>(x); }
  };
  OPENREG_INLINE float operator()(float x) const { return math::logGammaOfFloat<true>(x); }
  static bool isQuick(float x) { return x >= 0; }
};

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

const Unary<"erf", [](auto x) { return std::erf(x); }, Floats> kErf;
const Unary<"erfc", [](auto x) { return std::erfc(x); }, Floats> kErfc;
const Unary<"sinc", [](auto x) { return sinc(x); }, FloatsAndComplex> kSinc;
const Unary<"special_entr", [](auto x) { return entropy(x); }, Floats> kEntropy;
const InDouble<"digamma", math::digamma> kDigamma;
const InDouble<"trigamma", math::trigamma> kTrigamma;
const InDouble<"special_ndtri", math::normalQuantile> kNormalQuantile;
const InDouble<"special_log_ndtr", math::logNormalShare> kLogNormalShare;
const InDouble<"special_erfcx", math::scaledErfc> kScaledErfc;
const Special<"erfinv", math::inverseErfOfFloat, math::inverseErf> kInverseErf;
const ElementwiseOf<"lgamma", LogGamma, Floats> kLogGamma;
const Special<"i0", math::besselI0OfFloat, i0> kI0;
const Special<"special_i0e", math::scaledBesselI0OfFloat, scaledI0> kScaledI0;
const Special<"special_i1", math::besselI1OfFloat, i1> kI1;
const Special<"special_i1e", math::scaledBesselI1OfFloat, scaledI1> kScaledI1;

template <class C>
struct Polygamma {
  C order;
  C operator()(C x) const {
    return static_cast<C>(math::polygamma(static_cast<double>(order), static_cast<double>(x)));
  }
};
const ElementwiseOf<"polygamma", Polygamma, Floats> kPolygamma;

const Binary<
    "special_zeta",
    [](auto s, auto x) { return decltype(x)(math::zeta(static_cast<double>(s), static_cast<double>(x))); },
    Floats>
    kZeta;

} // namespace

} // namespace openreg::kernels
