// Reductions: largest and smallest elements, and where they are. A NaN is larger than all numbers, and smaller, too.
#include <limits>

#include "reduce_table.h"

namespace openreg::kernels {

namespace {

template <class C>
constexpr C lowest() {
  return std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::lowest();
}

template <class C>
constexpr C highest() {
  return std::numeric_limits<C>::has_infinity ? std::numeric_limits<C>::infinity() : std::numeric_limits<C>::max();
}

template <class C>
C larger(C a, C b) {
  return a != a || a > b ? a : b;
}

template <class C>
C smaller(C a, C b) {
  return a != a || a < b ? a : b;
}

template <class C>
struct Largest {
  using State = C;
  State start() const { return lowest<C>(); }
  State step(State best, C value, int64_t) const { return larger(best, value); }
  State join(State a, State b) const { return larger(a, b); }
  C finish(State best, int64_t) const { return best; }
};
const ReduceOf<Largest, RealNumbers> kLargest("amax");

template <class C>
struct Smallest {
  using State = C;
  State start() const { return highest<C>(); }
  State step(State best, C value, int64_t) const { return smaller(best, value); }
  State join(State a, State b) const { return smaller(a, b); }
  C finish(State best, int64_t) const { return best; }
};
const ReduceOf<Smallest, RealNumbers> kSmallest("amin");

template <class C>
struct Both {
  struct State {
    C low;
    C high;
  };
  State start() const { return {highest<C>(), lowest<C>()}; }
  State step(State best, C value, int64_t) const { return join(best, {value, value}); }
  State join(State a, State b) const { return {smaller(a.low, b.low), larger(a.high, b.high)}; }
  std::tuple<C, C> finish(State best, int64_t) const { return {best.low, best.high}; }
};
const ReduceOf<Both, RealNumbersAndBool> kBoth("aminmax");

/// The best element by `Better`, and where the first of equal ones is.
template <class C, class Better>
struct Place {
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

struct IsLarger {
  template <class C>
  bool operator()(C a, C b) const {
    return a > b;
  }
};

struct IsSmaller {
  template <class C>
  bool operator()(C a, C b) const {
    return a < b;
  }
};

template <class C>
struct LargestAndPlace : Place<C, IsLarger> {
  using State = Place<C, IsLarger>::State;
  std::tuple<C, int64_t> finish(State best, int64_t) const { return {best.value, best.index}; }
};
const ReduceOf<LargestAndPlace, RealNumbersAndBool> kLargestAndPlace("max");

template <class C>
struct SmallestAndPlace : Place<C, IsSmaller> {
  using State = Place<C, IsSmaller>::State;
  std::tuple<C, int64_t> finish(State best, int64_t) const { return {best.value, best.index}; }
};
const ReduceOf<SmallestAndPlace, RealNumbersAndBool> kSmallestAndPlace("min");

template <class C>
struct PlaceOfSmallest : Place<C, IsSmaller> {
  using State = Place<C, IsSmaller>::State;
  int64_t finish(State best, int64_t) const { return best.index; }
};
const ReduceOf<PlaceOfSmallest, RealNumbersAndBool> kPlaceOfSmallest("argmin");

} // namespace

} // namespace openreg::kernels
