// Reductions that find the best element, and where it is.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// The best element by `Better`, and where the first of equal ones is. NaN is better than all numbers. What comes out
/// of it, finish(), is the derived functor's.
template <class C, class Better>
struct Best {
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
    const bool bWins = equal ? b.index < a.index : bIsNan || (!aIsNan && Better{}(b.value, a.value));
    return bWins ? b : a;
  }
};

} // namespace openreg::kernels
