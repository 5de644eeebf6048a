// Arguments of the kernels "sort", "topk", "kthvalue", "median" and "mode". Plain data: the launcher includes this
// file, too.
#pragma once

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// Rows of elements. All arrays are contiguous; results are written row after row.
struct SortArgs {
  void* values;     ///< rows × kept elements, written.
  int64_t* indices; ///< rows × kept, written: where in its row each value was.
  const void* in;   ///< rows × size elements.
  int64_t rows;
  int64_t size;
  int64_t kept; ///< "topk": how many of the first in order are wanted. All for "sort", 1 for the others.
  int64_t k;    ///< "kthvalue": which; 1 is the smallest.
  DType dtype;
  int32_t descending; ///< "sort", "topk": the largest first.
  int32_t ignoresNan; ///< "median": whether NaNs are left out; else one makes the result NaN.
  int32_t sorted;     ///< "topk": whether the results are to be in order.
};

} // namespace openreg::kernels
