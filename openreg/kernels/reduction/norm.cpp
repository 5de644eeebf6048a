// Reductions: norms of vectors. Complex numbers count by their absolute value, so results are real.
#include <cmath>
#include <limits>

#include "kernels/loop/convert.h"
#include "kernels/reduction/reduce_table.h"

namespace openreg::kernels {

namespace {

template <class C>
struct RealOf {
  using Type = C;
};
template <class T>
struct RealOf<Complex<T>> {
  using Type = T;
};
template <class C>
using Real = RealOf<C>::Type;

template <class C>
Real<C> squared(C x) {
  if constexpr (kIsComplex<C>) {
    return std::norm(x);
  } else {
    return x * x;
  }
}

/// What all norms that add something up have in common.
template <class C>
struct Sums {
  using State = Accumulator<Real<C>>;
  State start() const { return State(0); }
  State join(State a, State b) const { return a + b; }
  Real<C> finish(State sum, int64_t) const { return Real<C>(sum); }
};

template <class C>
struct Norm0 : Sums<C> {
  using State = Sums<C>::State;
  State step(State sum, C value, int64_t) const { return sum + (value == C(0) ? State(0) : State(1)); }
};
const ReduceOf<"norm_0", Norm0, FloatsAndComplex> kNorm0;

template <class C>
struct Norm1 : Sums<C> {
  using State = Sums<C>::State;
  State step(State sum, C value, int64_t) const { return sum + State(std::abs(value)); }
};
const ReduceOf<"norm_1", Norm1, FloatsAndComplex> kNorm1;

template <class C>
struct Norm2 : Sums<C> {
  using State = Sums<C>::State;
  State step(State sum, C value, int64_t) const { return sum + squared(Accumulator<C>(value)); }
  Real<C> finish(State sum, int64_t) const { return Real<C>(std::sqrt(sum)); }
};
const ReduceOf<"norm_2", Norm2, FloatsAndComplex> kNorm2;

template <class C>
struct NormP : Sums<C> {
  C p;
  using State = Sums<C>::State;
  State step(State sum, C value, int64_t) const { return sum + std::pow(State(std::abs(value)), State(std::real(p))); }
  Real<C> finish(State sum, int64_t) const { return Real<C>(std::pow(sum, State(1) / State(std::real(p)))); }
};
const ReduceOf<"norm_p", NormP, FloatsAndComplex> kNormP;

template <class C>
struct NormInfinity {
  using State = Real<C>;
  State start() const { return State(0); }
  State step(State best, C value, int64_t) const { return join(best, std::abs(value)); }
  State join(State a, State b) const { return a != a || a > b ? a : b; }
  State finish(State best, int64_t) const { return best; }
};
const ReduceOf<"norm_inf", NormInfinity, FloatsAndComplex> kNormInfinity;

template <class C>
struct NormMinusInfinity {
  using State = Real<C>;
  State start() const { return std::numeric_limits<State>::infinity(); }
  State step(State best, C value, int64_t) const { return join(best, std::abs(value)); }
  State join(State a, State b) const { return a != a || a < b ? a : b; }
  State finish(State best, int64_t) const { return best; }
};
const ReduceOf<"norm_minus_inf", NormMinusInfinity, FloatsAndComplex> kNormMinusInfinity;

} // namespace

} // namespace openreg::kernels
