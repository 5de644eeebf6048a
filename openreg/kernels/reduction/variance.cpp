// Reductions: variance, after Welford. Squares of large numbers are never subtracted from each other.
#include <cmath>

#include "kernels/reduction/reduce_table.h"

namespace openreg::kernels {

namespace {

// LITERALINCLUDE START: WELFORD
template <class C>
struct Moments {
  using A = Accumulator<C>;
  C correction;
  C takeRoot; // not 0: the standard deviation

  struct State {
    A count;
    A mean;
    A squares; ///< Sum of the squared distances from the mean.
  };
  State start() const { return {A(0), A(0), A(0)}; }
  State step(State state, C value, int64_t) const {
    const A count = state.count + A(1);
    const A distance = A(value) - state.mean;
    const A mean = state.mean + distance / count;
    return {count, mean, state.squares + distance * (A(value) - mean)};
  }
  State join(State a, State b) const {
    const A count = a.count + b.count;
    const A share = count == A(0) ? A(0) : b.count / count;
    const A distance = b.mean - a.mean;
    return {count, a.mean + distance * share, a.squares + b.squares + distance * distance * a.count * share};
  }
  C variance(State state) const {
    const A freedom = state.count - A(correction);
    const A result = state.squares / (freedom > A(0) ? freedom : A(0));
    return C(takeRoot != C(0) ? std::sqrt(result) : result);
  }
};
// LITERALINCLUDE END: WELFORD

template <class C>
struct Variance : Moments<C> {
  using State = Moments<C>::State;
  C finish(State state, int64_t) const { return this->variance(state); }
};
const ReduceOf<"var", Variance, Floats> kVariance;

template <class C>
struct VarianceAndMean : Moments<C> {
  using State = Moments<C>::State;
  std::tuple<C, C> finish(State state, int64_t) const { return {this->variance(state), C(state.mean)}; }
};
const ReduceOf<"var_mean", VarianceAndMean, Floats> kVarianceAndMean;

} // namespace

} // namespace openreg::kernels
