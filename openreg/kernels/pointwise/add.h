// Arguments of the kernel "add". Plain data: the launcher includes this file, too.
#pragma once

#include <cstdint>

namespace openreg::kernels {

/// Types of elements that kernels compute with.
enum class ElementType : int64_t { Float32 = 0, Float64 = 1, Int64 = 2 };

/// out[i] = a[i] + alpha * b[i] over contiguous arrays. `out` may be `a` or `b`.
struct AddArgs {
  void* out;        ///< Device memory, written.
  const void* a;    ///< Device memory, read.
  const void* b;    ///< Device memory, read.
  int64_t count;    ///< Number of elements.
  ElementType type; ///< Of all three.
  double alpha;     ///< For floating types.
  int64_t alphaInt; ///< For integers, which a double cannot hold exactly.
};

} // namespace openreg::kernels
