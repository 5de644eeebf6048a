// Reductions: products, and sums without NaN.
#include "kernels/reduction/reduce_table.h"

namespace openreg::kernels {

namespace {

template <class C>
struct Product {
  using State = Accumulator<C>;
  State start() const { return State(1); }
  State step(State product, C value, int64_t) const { return product * State(value); }
  State join(State a, State b) const { return a * b; }
  C finish(State product, int64_t) const { return C(product); }
};
const ReduceOf<"prod", Product, NumbersAndBool> kProduct;

template <class C>
struct SumOfNumbers {
  using State = Accumulator<C>;
  State start() const { return State(0); }
  State step(State sum, C value, int64_t) const { return sum + (value != value ? State(0) : State(value)); }
  State join(State a, State b) const { return a + b; }
  C finish(State sum, int64_t) const { return C(sum); }
};
const ReduceOf<"nansum", SumOfNumbers, FloatsAndComplex> kSumOfNumbers;

} // namespace

} // namespace openreg::kernels
