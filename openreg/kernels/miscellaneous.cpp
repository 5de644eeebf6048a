// Elementwise kernels: a window of signal processing, the factor that brings a vector's norm to a limit, and complex
// numbers out of two real ones.
#include <cmath>

#include "functors.h"
#include "special_math.h"

namespace openreg::kernels {

namespace {

/// Of the numbers 0, 1, …
template <class C>
struct Kaiser {
  C step; ///< From one number to the next, where the window goes from −1 to 1.
  C beta;

  C operator()(C x) const {
    const double at = static_cast<double>(x) * step - 1;
    const double slope = beta;
    const double y = slope * std::sqrt(std::max(0.0, 1 - at * at));
    // A ratio of Bessel functions, each of which may be too large for a number.
    const double ratio = math::scaledBesselI(0, y) / math::scaledBesselI(0, slope);
    return static_cast<C>(ratio * std::exp(std::abs(y) - std::abs(slope)));
  }
};

template <class C>
struct NormFactor {
  C limit;

  C operator()(C norm) const { return norm > limit ? limit / (norm + C(1e-7)) : C(1); }
};

template <class C>
struct Cartesian {
  Complex<C> operator()(C real, C imag) const { return {real, imag}; }
};

template <class C>
struct Polar {
  Complex<C> operator()(C length, C angle) const { return {length * std::cos(angle), length * std::sin(angle)}; }
};

const Elementwise<Kaiser, float, double> kKaiser("kaiser_window");
const Elementwise<NormFactor, float, double> kNormFactor("renorm_scale_factor");
const Elementwise<Cartesian, float, double> kCartesian("complex");
const Elementwise<Polar, float, double> kPolar("polar");

} // namespace

} // namespace openreg::kernels
