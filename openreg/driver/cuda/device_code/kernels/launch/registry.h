// Kernels by name on a GPU: a compilation is asked for one, and makes code of that alone. There is no
// HostEntry: what needs one does not compile.
#pragma once

#include "kernels/launch/dtype.h"
#include "kernels/launch/name.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

// LITERALINCLUDE START: GPU ENTRY
/// What a kernel's name leads to.
template <class ArgumentStruct, orKernelFn kernelFunction>
struct Found {
  using Args = ArgumentStruct;
  static constexpr orKernelFn function = kernelFunction;
};

/// found(Asked<"add.float">()) is the Found of the Entry of that name: each Entry defines the function of its own name.
template <Name name>
struct Asked {
  friend constexpr auto found(Asked);
};

/// A static object of this type makes a function the kernel `name`.
template <Name name, class Args, size_t minArgsSize, orKernelFn function, int phases = 1>
class Entry {
  friend constexpr auto found(Asked<name> /*name*/) { return Found<Args, function>(); }
};
// LITERALINCLUDE END: GPU ENTRY

} // namespace openreg::kernels
