// The kernels "uniform": real numbers in [from, to).
#include "kernels/loop/multiversion.h"
#include "kernels/random/draw.h"

namespace openreg::kernels {

namespace {

template <class C>
OPENREG_MULTIVERSION void uniform(const UniformParameters& u, int64_t count, const BitsOf<C>* bits, C* values) {
  using Signed = std::make_signed_t<BitsOf<C>>; // vectors convert signed integers faster
  const int shift = static_cast<int>(8 * sizeof(C)) - u.digits;
  const C step = static_cast<C>(std::ldexp(u.to - u.from, -u.digits));
  const auto from = static_cast<C>(u.from);
  const auto last = static_cast<C>(u.last);
  for (int64_t i = 0; i < count; ++i) {
    // Rounding the sum may reach `to`.
    values[i] = std::min(static_cast<C>(static_cast<Signed>(bits[i] >> shift)) * step + from, last);
  }
}

template <class C>
struct Uniform : UniformParameters {
  using Value = C;
  using Bits = BitsOf<C>;
  void operator()(int64_t count, const Bits* bits, C* values) const { uniform(*this, count, bits, values); }
};

const Draw<"uniform", Uniform<float>, Uniform<double>> registration;

} // namespace

} // namespace openreg::kernels
