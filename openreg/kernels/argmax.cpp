// Reductions that find where something is.
#include "reduce.h"

namespace openreg::kernels {

namespace {

/// Where the largest element is: the first of equal ones, and of NaN, which counts as larger than all numbers.
template <class C>
struct ArgMax {
  struct State {
    C value;
    int64_t index; ///< -1: none yet.
  };
  State start() const { return {C(0), -1}; }
  State step(State best, C value, int64_t index) const { return join(best, {value, index}); }
  State join(State a, State b) const {
    if (a.index < 0 || b.index < 0) {
      return a.index < 0 ? b : a;
    }
    const bool aIsNan = a.value != a.value;
    const bool bIsNan = b.value != b.value;
    const bool equal = aIsNan ? bIsNan : a.value == b.value;
    const bool bWins = equal ? b.index < a.index : bIsNan || (!aIsNan && b.value > a.value);
    return bWins ? b : a;
  }
  int64_t finish(State best, int64_t) const { return best.index; }
};

const Reduce<ArgMax, bool, int64_t, uint64_t, float, double> kArgMax("argmax");

} // namespace

} // namespace openreg::kernels
