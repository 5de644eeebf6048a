// The kernels "normal" and "log_normal".
#include <numbers>

#include "kernels/random/draw.h"

namespace openreg::kernels {

namespace {

// LITERALINCLUDE START: NORMAL
template <class C>
struct Normal : NormalParameters {
  using Value = C;
  using Bits = BitsOf<C>;

  /// Box and Muller: two uniform numbers make two normal ones.
  void operator()(int64_t count, const Bits* bits, C* values) const {
    constexpr C kTurn = 2 * std::numbers::pi_v<C>;
    for (int64_t i = 0; i < count; i += 2) {
      const C radius = static_cast<C>(std) * std::sqrt(-2 * std::log(openUnit(bits[i])));
      const C angle = kTurn * openUnit(bits[i + 1]);
      values[i] = radius * std::cos(angle) + static_cast<C>(mean);
      values[i + 1] = radius * std::sin(angle) + static_cast<C>(mean);
    }
  }
};
// LITERALINCLUDE END: NORMAL

template <class C>
struct LogNormal : Normal<C> {
  void operator()(int64_t count, const BitsOf<C>* bits, C* values) const {
    Normal<C>::operator()(count, bits, values);
    for (int64_t i = 0; i < count; ++i) {
      values[i] = std::exp(values[i]);
    }
  }
};

const Draw<"normal", Normal<float>, Normal<double>> normal;
const Draw<"log_normal", LogNormal<float>, LogNormal<double>> logNormal;

} // namespace

} // namespace openreg::kernels
