// Reductions: whether any or all elements are true.
#include "kernels/reduction/reduce_table.h"

namespace openreg::kernels {

namespace {

template <class C>
struct Any {
  using State = uint8_t; // 0 or 1
  State start() const { return 0; }
  State step(State any, C value, int64_t) const { return any | static_cast<State>(value != C(0)); }
  State join(State a, State b) const { return a | b; }
  bool finish(State any, int64_t) const { return any != 0; }
};
const ReduceOf<"any", Any, Types<bool, int64_t>> kAny;

template <class C>
struct All {
  using State = uint8_t; // 0 or 1
  State start() const { return 1; }
  State step(State all, C value, int64_t) const { return all & static_cast<State>(value != C(0)); }
  State join(State a, State b) const { return a & b; }
  bool finish(State all, int64_t) const { return all != 0; }
};
const ReduceOf<"all", All, Types<bool, int64_t>> kAll;

// The larger of two bools is "or".
const ReduceOf<"amax", Any, Types<bool>> kLargest;
const ReduceOf<"amin", All, Types<bool>> kSmallest;

} // namespace

} // namespace openreg::kernels
