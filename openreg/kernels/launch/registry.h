// The kernels of the module "openreg". Adding a file to this folder is adding a kernel: it registers itself.
#pragma once

#include <span>

#include "kernels/launch/dtype.h"
#include "openreg_kernel.h"

// For constructors that register templates: their code stays in the file that calls them. gcc gives instances for
// templates of an unnamed namespace one name in all files, and of two files' `Forward` the linker would keep one.
#define OPENREG_IN_THIS_FILE [[gnu::always_inline]]

namespace openreg::kernels {

/// All that have been registered. Complete once the library is loaded.
std::span<const orKernelEntry> registered();

/// Adds an entry; called while the library is being loaded, by one thread.
void add(const orKernelEntry& entry);

/// "add.float" of "add" and Float. Lives as long as the process.
const char* fullName(const char* name, ComputeType type);

/// A static object of this type in a kernel's file makes a function of its argument struct the kernel `name`.
template <class Args>
class Register {
 public:
  template <class Kernel>
  Register(const char* name, Kernel) {
    add(
        {name, [](const void* args, orKernelContext* context) { Kernel{}(*static_cast<const Args*>(args), *context); },
         sizeof(Args)});
  }
};

/// A static object of this type makes kernels of a template, one for each of the compute types: "name.float", …
template <class Args, template <class> class Kernel, class... C>
class RegisterTypes {
 public:
  OPENREG_IN_THIS_FILE explicit RegisterTypes(const char* name) {
    (Register<Args>(fullName(name, kComputeTypeOf<C>), Kernel<C>{}), ...);
  }
};

} // namespace openreg::kernels
