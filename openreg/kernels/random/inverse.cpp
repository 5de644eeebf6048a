// The kernels "exponential", "cauchy" and "geometric": the inverse of a distribution function, of a uniform number.
#include <numbers>

#include "kernels/random/draw.h"

namespace openreg::kernels {

namespace {

template <class C>
struct Exponential : ExponentialParameters {
  using Value = C;
  using Bits = BitsOf<C>;
  void operator()(int64_t count, const Bits* bits, C* values) const {
    for (int64_t i = 0; i < count; ++i) {
      values[i] = -std::log(openUnit(bits[i])) / static_cast<C>(lambda);
    }
  }
};

template <class C>
struct Cauchy : CauchyParameters {
  using Value = C;
  using Bits = BitsOf<C>;
  /// One bit is the sign, the others say how far from the pole: near it, where the tails are, they are exact.
  void operator()(int64_t count, const Bits* bits, C* values) const {
    for (int64_t i = 0; i < count; ++i) {
      const C distance = static_cast<C>(sigma) / std::tan(std::numbers::pi_v<C> / 2 * openUnit(bits[i] & ~Bits{1}));
      values[i] = static_cast<C>(median) + ((bits[i] & 1) != 0 ? distance : -distance);
    }
  }
};

struct Geometric : GeometricParameters {
  using Value = double;
  using Bits = uint64_t;
  void operator()(int64_t count, const Bits* bits, double* values) const {
    for (int64_t i = 0; i < count; ++i) {
      values[i] = std::ceil(std::log(openUnit(bits[i])) / std::log1p(-p));
    }
  }
};

const Draw<"exponential", Exponential<float>, Exponential<double>> exponential;
const Draw<"cauchy", Cauchy<float>, Cauchy<double>> cauchy;
const Draw<"geometric", Geometric> geometric;

} // namespace

} // namespace openreg::kernels
