// The kernels of the module "openreg". Adding a file to this folder is adding a kernel: it registers itself.
#pragma once

#include <span>

#include "kernels/launch/dtype.h"
#include "kernels/launch/name.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// All that have been registered. Complete once the library is loaded.
std::span<const orKernelEntry> registered();

/// Adds an entry; called while the library is being loaded, by one thread.
/// @param source Of a kernel that a driver can compile for a processor of another kind: the file that registers it.
/// @param phases As of Entry.
void add(const orKernelEntry& entry, const char* source = nullptr, int phases = 1);

/// The source of a kernel, as "kernels/pointwise/arithmetic.cpp"; null for one that only the host's compiler can make,
/// and for a name that is none.
const char* sourceOf(const char* name);

/// How many phases a kernel has that has a source; 1 for any other name.
int phasesOf(const char* name);

// LITERALINCLUDE START: ENTRY
/// A static object of this type makes a function the kernel `name`. The file that it stands in is the kernel's source.
/// @tparam Args The struct that its argument bytes are.
/// @tparam minArgsSize Fewest bytes of them.
/// @tparam phases Parts, each of which begins when the one before it is done. The host's function does them all; a
///     GPU is given one after the other.
template <Name name, class Args, size_t minArgsSize, orKernelFn function, int phases = 1>
class Entry {
 public:
  Entry() { add({kName.text, function, minArgsSize}, __BASE_FILE__, phases); }

 private:
  static constexpr auto kName = name;
};

/// The same for a kernel that only the host's compiler can make: it has loops that share what lies in the host's
/// memory, or calls a library of the host's.
template <Name name, class Args, size_t minArgsSize, orKernelFn function>
class HostEntry {
 public:
  HostEntry() { add({kName.text, function, minArgsSize}); }

 private:
  static constexpr auto kName = name;
};
// LITERALINCLUDE END: ENTRY

/// A static object of this type makes a functor of an argument struct the kernel `name`.
template <Name name, class Args, class Kernel>
class Register : public HostEntry<name, Args, sizeof(Args), [](const void* args, orKernelContext* context) {
  Kernel{}(*static_cast<const Args*>(args), *context);
}> {};

/// A static object of this type makes kernels of a template, one for each of the compute types: "name.float", …
template <Name name, class Args, template <class> class Kernel, class... C>
class RegisterTypes : public Register<fullName<name, C>(), Args, Kernel<C>>... {};

} // namespace openreg::kernels
