// Kernels out of loops: one line makes a loop a kernel, or a loop template the kernels "name.float" and so on.
#pragma once

#include "kernels/launch/registry.h"
#include "kernels/loop/loop_kernel.h"

namespace openreg::kernels {

/// What most loops have in common: they can be made of any arguments, and keep them.
template <class Args>
class LoopOver {
 public:
  static const char* refusal(const Args& /*args*/) { return nullptr; }
  explicit LoopOver(const Args& args) : args_(args) {}

 protected:
  const Args& args_;
};

/// A static object of this type makes a loop the kernel `name`.
template <Name name, class Args, class L>
class Loop : public Entry<name, Args, sizeof(Args), &LoopKernel<Args, L>::run> {};

/// The same where an iteration is a row of elements: a block of a GPU's threads does it together. It is written in the
/// operations of row.h, and whatever else it does each of these threads does, too.
template <Name name, class Args, class L>
class RowLoop : public Entry<name, Args, sizeof(Args), &RowKernel<Args, L>::run> {};

/// A static object of this type makes kernels of a loop template, one for each of the compute types: "name.float", …
template <Name name, class Args, template <class> class L, class... C>
class Loops : public Loop<fullName<name, C>(), Args, L<C>>... {};

template <Name name, class Args, template <class> class L, class... C>
class RowLoops : public RowLoop<fullName<name, C>(), Args, L<C>>... {};

/// Kernels of a loop each, one behind the other, with the same arguments: what one writes the next may read, whichever
/// thread has written it. What they share lies in device memory that the launcher has given them.
/// @tparam Kernel Each a LoopKernel or a RowKernel.
template <Name name, class Args, class... Kernel>
class Phases : public Entry<name, Args, sizeof(Args), &InOrder<Kernel...>::run, sizeof...(Kernel)> {};

} // namespace openreg::kernels
