// Reductions out of functors: one line makes a functor the kernels "name.float", "name.int64" and so on.
#pragma once

#include "kernels/launch/strided_entry.h"
#include "kernels/reduction/reduce_loop.h"

namespace openreg::kernels {

/// A static object of this type makes kernels of a functor template, one for each of the compute types:
///
///     const Reduce<"sum", Sum, int64_t, float> kSum; // "sum.int64", "sum.float"
template <Name name, template <class> class F, class... C>
class Reduce : public StridedEntry<fullName<name, C>(), &ReduceKernel<F<C>, C>::run>... {};

} // namespace openreg::kernels
