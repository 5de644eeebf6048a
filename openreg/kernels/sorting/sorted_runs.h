// Arguments of the kernels "sort_runs" and "merge_runs". Plain data: the launcher includes this file, too.
#pragma once

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// Elements of a run that "sort_runs" sorts.
constexpr int64_t kSortedRun = 32;

/// Rows of elements, with the place in its row that each had at first. All arrays are contiguous, of rows × size
/// elements. Equal elements keep their order.
struct SortedRunsArgs {
  void* values;           ///< Written.
  int64_t* indices;       ///< Written.
  const void* in;         ///< Elements; of "merge_runs", runs in order.
  const int64_t* inIndex; ///< Their places at first; "sort_runs" reads none.
  int64_t rows;
  int64_t size;
  int64_t run; ///< Elements of a run, of which "merge_runs" joins two; the last of a row may be shorter.
  DType dtype;
  int32_t descending; ///< The largest first.
};

} // namespace openreg::kernels
