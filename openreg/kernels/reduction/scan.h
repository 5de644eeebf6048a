// Arguments of kernels that go along one dimension and keep what they have so far: "cumsum.float" and the like. Plain
// data: the launcher includes this file, too.
#pragma once

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// Contiguous arrays of outer × size × inner elements; `size` is the dimension that the scan goes along.
struct ScanArgs {
  void* values;      ///< Device memory, written.
  void* indices;     ///< Device memory, written: where each value was, as int64; null for kernels that don't tell.
  const void* input; ///< Device memory, read.
  int64_t outer;
  int64_t size;
  int64_t inner;
  DType valueType;
  DType inputType;
};

} // namespace openreg::kernels
