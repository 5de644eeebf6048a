// Reductions that find where something is.
#include <functional>

#include "kernels/reduction/best.h"
#include "kernels/reduction/reduce.h"

namespace openreg::kernels {

namespace {

/// Where the largest element is.
template <class C>
struct ArgMax : Best<C, std::greater<C>> {
  using State = Best<C, std::greater<C>>::State;
  int64_t finish(State best, int64_t) const { return best.index; }
};

const Reduce<"argmax", ArgMax, bool, int64_t, uint64_t, float, double> kArgMax;

} // namespace

} // namespace openreg::kernels
