// Reductions that add: sum and mean.
#include "kernels/reduction/reduce.h"

namespace openreg::kernels {

namespace {

template <class C>
struct Sum {
  using State = Accumulator<C>;
  State start() const { return State(0); }
  State step(State sum, C value, int64_t) const { return sum + State(value); }
  State join(State a, State b) const { return a + b; }
  C finish(State sum, int64_t) const { return C(sum); }
};

template <class C>
struct Mean : Sum<C> {
  using State = Accumulator<C>;
  C finish(State sum, int64_t count) const { return C(sum / State(static_cast<double>(count))); }
};

const Reduce<"sum", Sum, bool, int64_t, uint64_t, float, double, Complex<float>, Complex<double>> kSum;
const Reduce<"mean", Mean, float, double, Complex<float>, Complex<double>> kMean;

} // namespace

} // namespace openreg::kernels
