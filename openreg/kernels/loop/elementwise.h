// Elementwise kernels out of functors: one line makes a functor the kernels "name.float", "name.int64" and so on.
#pragma once

#include "kernels/launch/strided_entry.h"
#include "kernels/loop/elementwise_loop.h"
#include "kernels/loop/lists.h"

namespace openreg::kernels {

// LITERALINCLUDE START: ELEMENTWISE TABLE
/// The form for lists of tensors of a kernel "add.float", which is "foreach_add.float". There is none if a list has no
/// room for the functor's fields.
template <Name name, class F, bool fits = sizeof(F) <= sizeof(ListEntry::parameters)>
class ListForm {};
template <Name name, class F>
class ListForm<name, F, true>
    : public Entry<Name("foreach_") + name, ListArgs, offsetof(ListArgs, packed), &ElementwiseKernel<F>::runOnList> {};

/// A static object of this type makes kernels of a functor template, one for each of the compute types, and of each a
/// form for lists:
///
///     const Elementwise<"add", Add, int64_t, float> kAdd; // "add.int64", "add.float", "foreach_add.int64", …
template <Name name, template <class> class F, class... C>
class Elementwise : public StridedEntry<fullName<name, C>(), &ElementwiseKernel<F<C>>::run>...,
                    public ListForm<fullName<name, C>(), F<C>>... {};
// LITERALINCLUDE END: ELEMENTWISE TABLE

} // namespace openreg::kernels
