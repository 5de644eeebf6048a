// What stands before and behind a source of kernels: text for the compiler of the GPU's code. The files in device_code
// take the place of the kernels' own of the same names.
#pragma once

namespace openreg::cuda {

constexpr char kKernelSymbol[] = "openreg_kernel";

/// A module that is no part of this library has functions `void NAME(const Arguments&, Context&)`, and for each a line
/// OPENREG_KERNEL(NAME, Arguments). Every thread of the launch runs the function; Context says which one it is.
constexpr char kBeforeModule[] = R"(
#include "openreg_kernel.h"
using Context = orKernelContext;
#define OPENREG_KERNEL(name, Arguments)
#line 1
)";
constexpr char kBehindModule[] = R"(
struct Asked_ {
  using Args = OPENREG_ARGUMENTS;
  static void function(const void* arguments, orKernelContext* context) {
    alignas(16) const Args aligned = *static_cast<const Args*>(arguments); // which the contract promises
    OPENREG_NAME(aligned, *context);
  }
};
)";

// LITERALINCLUDE START: ASKED
/// Of this library's own kernels, the one that is asked for.
constexpr char kBehindOwn[] = R"(
using Asked_ = decltype(found(openreg::kernels::Asked<OPENREG_NAME>()));
)";

/// Kernels behind one that has failed do nothing.
constexpr char kEntryPoint[] = R"(
extern "C" __global__ void __launch_bounds__(kThreads)
openreg_kernel(const __grid_constant__ Asked_::Args arguments, const __grid_constant__ Services services) {
  if (*static_cast<volatile int32_t*>(services.failed) != 0) return;
  orKernelContext context{services};
  Asked_::function(&arguments, &context);
}
)";
// LITERALINCLUDE END: ASKED

/// The standard library for a GPU is NVIDIA's CCCL, by the names that kernels know it by.
constexpr const char* kStandardHeaders[] = {
    "algorithm",   "array",      "atomic",           "bit",    "cmath",   "complex", "cstddef", "cstdint",
    "cstring",     "functional", "initializer_list", "limits", "numbers", "numeric", "span",    "tuple",
    "type_traits", "utility"};

/// What POSIX adds to one of them.
constexpr char kMath[] = R"(
inline double lgamma_r(double x, int*) { return ::lgamma(x); }
)";

/// The types of <cstdint>, for modules that need no more of the standard library.
constexpr char kIntegers[] = R"(
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long long;
using uint64_t = unsigned long long;
using uintptr_t = unsigned long long;
)";

} // namespace openreg::cuda
