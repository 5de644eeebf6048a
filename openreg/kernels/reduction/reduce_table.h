// Reductions for lists of compute types.
#pragma once

#include "kernels/loop/functors.h"
#include "kernels/reduction/reduce.h"

namespace openreg::kernels {

/// Reduce for a list of types.
template <template <class> class F, class List>
class ReduceOf;
template <template <class> class F, class... C>
class ReduceOf<F, Types<C...>> : public Reduce<F, C...> {
 public:
  OPENREG_IN_THIS_FILE explicit ReduceOf(const char* name) : Reduce<F, C...>(name) {}
};

} // namespace openreg::kernels
