// Reductions that find the best element, and where it is.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

/// The best of some elements; a NaN is better than all numbers. In vector code, which is why it does not say where.
/// Static, as all functions in versions.
template <class Better, class C>
OPENREG_MULTIVERSION static C bestOf(const C* in, int64_t count) {
  constexpr int64_t kSideBySide = 32;
  const auto better = [](C a, C b) { return a != a || Better{}(a, b) ? a : b; };
  C best = in[0];
  int64_t i = 0;
  if (count >= kSideBySide) {
    C bests[kSideBySide];
    std::copy_n(in, kSideBySide, bests);
    for (i = kSideBySide; i + kSideBySide <= count; i += kSideBySide) {
      for (int64_t k = 0; k < kSideBySide; ++k) {
        bests[k] = better(bests[k], in[i + k]);
      }
    }
    for (const C other : bests) {
      best = better(best, other);
    }
  }
  for (; i < count; ++i) {
    best = better(best, in[i]);
  }
  return best;
}

/// Where the best element is, or the first of equal ones: a block at a time, in vector code.
/// @param best What bestOf() has said; only if it is a NaN there are NaNs.
template <class C>
OPENREG_MULTIVERSION static int64_t placeOf(C best, const C* in, int64_t count) {
  constexpr int64_t kSideBySide = 32;
  int64_t i = 0;
  for (int found = 0; i + kSideBySide <= count; i += kSideBySide) {
    for (int64_t k = 0; k < kSideBySide; ++k) {
      found |= static_cast<int>(in[i + k] == best) | static_cast<int>(in[i + k] != in[i + k]);
    }
    if (found != 0) {
      break;
    }
  }
  return std::find_if(in + i, in + count, [best](C x) { return x == best || x != x; }) - in;
}

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
  /// Few runs are better than all before them: only in those it looks for the place.
  void addRun(State& state, const C* in, int64_t count, int64_t at) const {
    const C best = bestOf<Better>(in, count);
    if (state.index < 0 || (best == best ? Better{}(best, state.value) : state.value == state.value)) {
      const int64_t place = placeOf(best, in, count);
      state = {in[place], at + place};
    }
  }
};

} // namespace openreg::kernels
