// Loads and stores that convert: a kernel computes in a type C, whatever types its operands have in memory.
#pragma once

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// Elements that are converted at a time.
constexpr int64_t kBlock = 512;

/// Reads `count` elements of type `dtype`, `stride` bytes apart, into an array.
template <class C>
void load(DType dtype, const char* from, int64_t stride, int64_t count, C* to);

/// Writes an array to `count` elements of type `dtype`, `stride` bytes apart.
template <class C>
void store(DType dtype, char* to, int64_t stride, int64_t count, const C* from);

// They exist for each compute type, in load.cpp and store.cpp.
#define OPENREG_FORALL_COMPUTE_TYPES(_)                                                                                \
  _(bool)                                                                                                              \
  _(int64_t)                                                                                                           \
  _(uint64_t)                                                                                                          \
  _(float)                                                                                                             \
  _(double)                                                                                                            \
  _(Complex<float>)                                                                                                    \
  _(Complex<double>)

// NOLINTBEGIN(bugprone-macro-parentheses): a type takes none
#define OPENREG_DECLARE(C)                                                                                             \
  extern template void load<C>(DType, const char*, int64_t, int64_t, C*);                                              \
  extern template void store<C>(DType, char*, int64_t, int64_t, const C*);
OPENREG_FORALL_COMPUTE_TYPES(OPENREG_DECLARE)
#undef OPENREG_DECLARE
// NOLINTEND(bugprone-macro-parentheses)

} // namespace openreg::kernels
