// Reductions: largest and smallest elements, and where they are. A NaN is larger than all numbers, and smaller, too.
#include <functional>
#include <limits>

#include "kernels/reduction/best.h"
#include "kernels/reduction/reduce_table.h"

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
const ReduceOf<"amax", Largest, RealNumbers> kLargest;

template <class C>
struct Smallest {
  using State = C;
  State start() const { return highest<C>(); }
  State step(State best, C value, int64_t) const { return smaller(best, value); }
  State join(State a, State b) const { return smaller(a, b); }
  C finish(State best, int64_t) const { return best; }
};
const ReduceOf<"amin", Smallest, RealNumbers> kSmallest;

template <class C>
struct Both {
  struct State {
    C low;
    C high;
  };
  State start() const { return {highest<C>(), lowest<C>()}; }
  State step(State best, C value, int64_t) const { return join(best, {value, value}); }
  State join(State a, State b) const { return {smaller(a.low, b.low), larger(a.high, b.high)}; }
  void addRun(State& state, const C* in, int64_t count, int64_t) const {
    state = join(state, {bestOf<std::less<C>>(in, count), bestOf<std::greater<C>>(in, count)});
  }
  std::tuple<C, C> finish(State best, int64_t) const { return {best.low, best.high}; }
};
const ReduceOf<"aminmax", Both, RealNumbersAndBool> kBoth;

template <class C>
struct LargestAndPlace : Best<C, std::greater<C>> {
  using State = Best<C, std::greater<C>>::State;
  std::tuple<C, int64_t> finish(State best, int64_t) const { return {best.value, best.index}; }
};
const ReduceOf<"max", LargestAndPlace, RealNumbersAndBool> kLargestAndPlace;

template <class C>
struct SmallestAndPlace : Best<C, std::less<C>> {
  using State = Best<C, std::less<C>>::State;
  std::tuple<C, int64_t> finish(State best, int64_t) const { return {best.value, best.index}; }
};
const ReduceOf<"min", SmallestAndPlace, RealNumbersAndBool> kSmallestAndPlace;

template <class C>
struct PlaceOfSmallest : Best<C, std::less<C>> {
  using State = Best<C, std::less<C>>::State;
  int64_t finish(State best, int64_t) const { return best.index; }
};
const ReduceOf<"argmin", PlaceOfSmallest, RealNumbersAndBool> kPlaceOfSmallest;

} // namespace

} // namespace openreg::kernels
