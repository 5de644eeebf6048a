// Reductions for lists of compute types.
#pragma once

#include "kernels/loop/functors.h"
#include "kernels/reduction/reduce.h"

namespace openreg::kernels {

/// Reduce for a list of types.
template <Name name, template <class> class F, class List>
class ReduceOf;
template <Name name, template <class> class F, class... C>
class ReduceOf<name, F, Types<C...>> : public Reduce<name, F, C...> {};

} // namespace openreg::kernels
