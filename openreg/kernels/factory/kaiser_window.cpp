// Elementwise kernel: kaiser_window, out of the numbers 0, 1, …
#include <cmath>

#include "kernels/loop/functors.h"
#include "kernels/math/special_math.h"

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

const Elementwise<"kaiser_window", Kaiser, float, double> kKaiser;

} // namespace

} // namespace openreg::kernels
